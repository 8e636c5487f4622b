package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** The heartbeat is a comment in two writes: the first makes a peer that is gone say so, the second hears it. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(90)
@Execution(ExecutionMode.CONCURRENT)
@Tag("edge")
class HeartbeatTest {
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final int BEATS = 40;

    private final ContainerKind kind;
    private final LifecycleRecorder lifecycle = new LifecycleRecorder();

    HeartbeatTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer server(Duration heartbeat) throws Exception {
        return TestServer.in(kind)
                .options(options -> options.heartbeatInterval(heartbeat).sessionLifecycleListener(lifecycle))
                .start();
    }

    /** A connection that listens, with nothing left to read on it. */
    private static RawConnection listen(RawSession session) {
        RawConnection connection = session.stream(session.get());
        assertThat(connection.frame().orElseThrow().message()).isFalse();
        return connection;
    }

    @Test
    void aSilentConnectionGetsACommentInTwoWrites() throws Exception {
        try (TestServer server = server(SHORT);
                RawConnection listening = listen(RawSession.open(server.port()))) {
            List<Long> silences = new ArrayList<>();
            List<Long> gaps = new ArrayList<>();
            for (int beat = 0; beat < BEATS; beat++) {
                long before = System.nanoTime();
                assertThat(listening.chunk()).isEqualTo(":");
                long between = System.nanoTime();
                assertThat(listening.chunk()).isEqualTo("\n");
                silences.add((between - before) / 1_000_000);
                gaps.add((System.nanoTime() - between) / 1_000_000);
            }
            // the halves are 110 ms apart; a machine that stands still lets some look shorter, and any of them longer
            assertThat(gaps).filteredOn(millis -> millis >= 50).hasSizeGreaterThan(BEATS / 2);
            assertThat(silences)
                    .filteredOn(millis -> millis >= SHORT.toMillis() - 20)
                    .hasSizeGreaterThan(BEATS / 2);
            assertThat(lifecycle.detached()).isEmpty();
        }
    }

    @Test
    void aMessageBetweenTheHalvesIsWhole() throws Exception {
        // long enough for the message to come before the next heartbeat, however busy the machine is
        try (TestServer server = server(Duration.ofSeconds(1));
                RawConnection listening = listen(RawSession.open(server.port()))) {
            int between = 0;
            for (int i = 0; between < 3; i++) {
                assertThat(listening.chunk()).isEqualTo(":");
                String text = "message " + i;
                server.log(text);
                String next = listening.chunk();
                boolean apart = false;
                while (next.equals("\n")) { // the comment ended before the message, and others may have gone by
                    String more = listening.chunk();
                    apart = !more.equals(":");
                    next = apart ? next + more : listening.chunk();
                }
                between += apart ? 0 : 1;
                List<String> lines = next.lines().toList();
                assertThat(lines).hasSize(5);
                assertThat(lines.get(0)).as("what ends the comment").isEmpty();
                assertThat(next).endsWith("\n\n");
                Frame frame = new Frame(lines);
                assertThat(frame.id()).isPresent();
                assertThat(frame.event()).hasValue("message");
                assertThat(frame.json().at("/params/data").asString()).isEqualTo(text);
            }
        }
    }

    private static Duration beforeTheSecond(Duration interval) {
        return interval.multipliedBy(2).minusMillis(100);
    }

    @ParameterizedTest
    @EnumSource
    void aPeerThatVanishedIsNoticedByOneBeat(Breakage breakage) throws Exception {
        Duration interval = Duration.ofSeconds(5);
        try (TestServer server = server(interval)) {
            RawSession session = RawSession.open(server.port());
            RawConnection listening = listen(session);

            breakage.happenTo(listening);

            await().atMost(beforeTheSecond(interval))
                    .untilAsserted(() -> assertThat(lifecycle.detached()).containsExactly(session.id()));
            await().until(() -> server.holdfast().openConnections() == 0);
            session.assertAlive();
        }
    }

    @ParameterizedTest
    @EnumSource
    void aPeerThatVanishedDuringACallIsNoticedByOneBeat(Breakage breakage) throws Exception {
        Duration interval = Duration.ofSeconds(5);
        try (TestServer server = TestServer.in(kind)
                .options(options -> options.heartbeatInterval(interval).sessionLifecycleListener(lifecycle))
                .tool("endless", (exchange, request) -> Mono.never())
                .start()) {
            RawSession session = RawSession.open(server.port());
            RawConnection calling = session.stream(session.post(Json.call("1", "endless")));
            assertThat(calling.frame().orElseThrow().message()).isFalse();

            breakage.happenTo(calling);

            await().atMost(beforeTheSecond(interval))
                    .untilAsserted(() -> assertThat(lifecycle.detached()).containsExactly(session.id()));
            session.assertAlive();
        }
    }
}
