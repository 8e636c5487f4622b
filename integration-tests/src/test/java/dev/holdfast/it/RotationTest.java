package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** A connection that reaches its maximum age is ended in order, and its client comes back for the rest. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
@Tag("edge")
class RotationTest {
    private static final Duration AGE = Duration.ofSeconds(1);
    private static final Duration RETRY = Duration.ofMillis(2_345);
    private static final int ROTATIONS = 3;

    private final ContainerKind kind;
    private final LifecycleRecorder lifecycle = new LifecycleRecorder();
    private final CompletableFuture<String> gate = new CompletableFuture<>();

    @AutoClose
    private TestServer server;

    private RawSession session;

    RotationTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options ->
                        options.maxConnectionAge(AGE).retryInterval(RETRY).sessionLifecycleListener(lifecycle))
                .tool("slow", (exchange, request) -> Mono.fromFuture(gate, true))
                .start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void theSessionLivesOn() {
        // a call could be sent away in the middle, as old as its connection may be
        assertThat(session.status(session.post(Json.request("\"alive\"", "ping", "{}"))))
                .isEqualTo(200);
        assertThat(lifecycle.detached()).isEmpty();
        assertThat(lifecycle.gaps()).isEmpty();
    }

    @Test
    void aStreamEndsInOrderAtItsAge() {
        long before = System.nanoTime();
        try (RawConnection listening = session.stream(session.get())) {
            List<Frame> frames = framesOf(listening);
            Duration age = Duration.ofNanos(System.nanoTime() - before);

            // it may be a tenth below, so that connections of one moment do not all end in another
            assertThat(age).isBetween(AGE.multipliedBy(9).dividedBy(10), AGE.multipliedBy(9));
            assertThat(frames).hasSize(2);
            assertThat(retry(frames.get(0))).isEqualTo(RETRY.toMillis());
            assertThat(retry(frames.get(1))).isLessThan(RETRY.toMillis());
        }
    }

    @Test
    void aClientThatComesBackMissesNothingAndGetsNothingTwice() {
        List<String> got = new ArrayList<>();
        List<String> sent;
        String last = "";
        try (SteadySender sender = new SteadySender(server)) {
            for (int i = 0; i < ROTATIONS; i++) {
                try (RawConnection listening = session.stream(last.isEmpty() ? session.get() : session.get(last))) {
                    for (Frame frame : framesOf(listening)) {
                        last = frame.id().orElse(last);
                        if (frame.message()) {
                            got.add(text(frame));
                        }
                    }
                }
            }
            sent = sender.stop();
        }
        try (RawConnection listening = session.stream(session.get(last))) {
            while (got.size() < sent.size()) {
                got.add(text(listening.message()));
            }
        }

        assertThat(sent).hasSizeGreaterThan(10 * ROTATIONS);
        assertThat(got).isEqualTo(sent);
    }

    @Test
    void aCallOutlivesTheConnectionsThatWaitForIt() {
        String position;
        try (RawConnection calling = session.stream(session.post(Json.call("7", "slow")))) {
            position = onlyPriming(framesOf(calling));
        }
        try (RawConnection waiting = session.stream(session.get(position))) {
            assertThat(onlyPriming(framesOf(waiting))).isEqualTo(position);
        }
        gate.complete("done");
        try (RawConnection again = session.stream(session.get(position))) {
            List<Frame> messages = again.messages();
            assertThat(again.end()).isEqualTo(RawConnection.End.IN_ORDER);
            assertThat(messages).hasSize(1);
            assertThat(messages.get(0).json().at("/id").asInt()).isEqualTo(7);
            assertThat(messages.get(0).json().at("/result/content/0/text").asString())
                    .isEqualTo("done");
        }
    }

    /** The frames of a stream that ends as a rotated one does. */
    private static List<Frame> framesOf(RawConnection connection) {
        List<Frame> frames = new ArrayList<>();
        for (Optional<Frame> frame = connection.frame(); frame.isPresent(); frame = connection.frame()) {
            frames.add(frame.get());
        }
        assertThat(connection.end()).isEqualTo(RawConnection.End.IN_ORDER);
        Frame last = frames.get(frames.size() - 1);
        assertThat(last.retry()).isPresent();
        assertThat(last.message()).isFalse();
        return frames;
    }

    private static String onlyPriming(List<Frame> frames) {
        assertThat(frames).noneMatch(Frame::message).hasSize(2);
        return frames.get(0).id().orElseThrow();
    }

    private static long retry(Frame frame) {
        return Long.parseLong(frame.retry().orElseThrow());
    }

    private static String text(Frame frame) {
        return frame.json().at("/params/data").asString();
    }
}
