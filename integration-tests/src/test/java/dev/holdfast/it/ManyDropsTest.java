package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.engine.SessionEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Thousands of clients of HTTP+SSE come and leave without a word: nothing of them is left. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(300)
@Tag("edge")
class ManyDropsTest {
    /** How many clients; {@code -Dholdfast.drops=10000} for a thorough look. */
    private static final int DROPS = Integer.getInteger("holdfast.drops", 500);

    private static final int THREADS = 20;
    private static final int INITIALIZED = 10;
    private static final int WAVE = 500;
    private static final int WARM_UP = 2;
    private static final Duration HEARTBEAT = Duration.ofSeconds(1);
    private static final int LEFT_OF_ONE_IN = 20;
    private static final String CLOSE_WAIT = "08";

    private final ContainerKind kind;

    ManyDropsTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Test
    void nothingIsLeftOfClientsThatLeft() throws Exception {
        try (LogCapture capture = new LogCapture();
                TestServer server = TestServer.in(kind)
                        .options(options -> options.sseEndpoint("/sse").heartbeatInterval(HEARTBEAT))
                        .start()) {
            for (int i = 0; i < WARM_UP; i++) {
                wave(server);
            }
            LiveObjects before = LiveObjects.now();
            assertThat(before.byClass()).containsKey(SessionEngine.class.getName());

            for (int i = 0; i < DROPS; i += WAVE) {
                wave(server);
            }

            // a container may be some time in letting go of its connections; what leaks stays
            await().untilAsserted(() -> assertThat(LiveObjects.now().moreThan(before))
                    .as("more objects after %d clients", DROPS)
                    .allSatisfy((type, more) -> assertThat(more).isLessThan(DROPS / LEFT_OF_ONE_IN)));
            assertThat(capture.complaints()).isEmpty();
        }
    }

    /** As many clients as make a wave come, and leave when all of them are there. */
    private static void wave(TestServer server) throws Exception {
        int port = server.port();
        Queue<RawSseSession> there = new ConcurrentLinkedQueue<>();
        Parallel.times(THREADS, thread -> {
            for (int i = 0; i < WAVE / THREADS; i++) {
                RawSseSession session = RawSseSession.connect(port);
                there.add(i % INITIALIZED == 0 ? session.initialize() : session);
            }
        });
        assertThat(server.holdfast().engine().size()).isEqualTo(WAVE);
        int left = 0;
        for (RawSseSession session : there) {
            Breakage breakage = left++ % 2 == 0 ? Breakage.FIN : Breakage.RST;
            breakage.happenTo(session.stream());
        }
        await().atMost(Duration.ofSeconds(15))
                .untilAsserted(
                        () -> assertThat(server.holdfast().engine().size()).isZero());
        await().until(() -> server.holdfast().openConnections() == 0);
        await().untilAsserted(() -> assertThat(halfClosed(port)).isEmpty());
    }

    /** The server's sockets whose peers have closed; none where the kernel does not tell. */
    private static List<String> halfClosed(int port) {
        String local = String.format(Locale.ROOT, ":%04X", port);
        return Stream.of("/proc/net/tcp", "/proc/net/tcp6")
                .map(Path::of)
                .filter(Files::exists)
                .flatMap(ManyDropsTest::lines)
                .map(line -> line.strip().split("\\s+"))
                .filter(fields -> fields.length > 3 && fields[1].endsWith(local) && fields[3].equals(CLOSE_WAIT))
                .map(fields -> fields[1] + " " + fields[2])
                .toList();
    }

    private static Stream<String> lines(Path file) {
        try {
            return Files.readAllLines(file).stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
