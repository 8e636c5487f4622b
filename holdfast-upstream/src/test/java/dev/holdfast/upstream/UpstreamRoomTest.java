package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import dev.holdfast.client.wire.ExchangeEnd;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** How much of large answers is read at once, over each HTTP client. */
@ParameterizedClass
@MethodSource("clients")
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
class UpstreamRoomTest {
    private static final int LARGE = 4 << 20;
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SILENCE = Duration.ofSeconds(2);
    private static final Duration LONGER_THAN_SILENCE = SILENCE.plusMillis(500);

    @AutoClose
    private final AskedServer server;

    UpstreamRoomTest(UpstreamHttp http) throws IOException {
        server = new AskedServer(http);
    }

    static Stream<Named<UpstreamHttp>> clients() {
        return AskedServer.clients();
    }

    @BeforeEach
    void serve() {
        serve("/whole", "application/json", "", "");
        serve("/stream", "text/event-stream", "data: ", "\n\n");
    }

    /** A large answer, at whose half the server pauses if it is asked to. */
    private void serve(String path, String type, String begins, String ends) {
        server.serve(path, asked -> {
            asked.getResponseHeaders().set("Content-Type", type);
            asked.sendResponseHeaders(200, 0);
            OutputStream out = asked.getResponseBody();
            out.write(begins.getBytes(UTF_8));
            out.write(new byte[LARGE / 2]);
            out.flush();
            if ("pause".equals(asked.getRequestURI().getQuery())) {
                server.awaitRelease();
            }
            out.write(new byte[LARGE / 2]);
            out.write(ends.getBytes(UTF_8));
            asked.close();
        });
    }

    private CompletableFuture<ExchangeEnd> get(String path, ByteBudget room, Duration silence) {
        return server.get(path, 2 * LARGE, silence, means -> means.withRoom(room));
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).isLessThan(deadline);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
    }

    private static void assertWhole(ExchangeEnd end) {
        assertThat(end)
                .isInstanceOfSatisfying(
                        ExchangeEnd.Answer.class,
                        answer -> assertThat(answer.body()).hasSize(LARGE));
    }

    @Test
    void anAnswerForWhichThereIsNoRoomIsReadOnceThereIsAndIsNotSilentMeanwhile() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        CompletableFuture<ExchangeEnd> first = get("/whole?pause", room, Duration.ZERO);
        await(() -> room.taken() > LARGE);
        CompletableFuture<ExchangeEnd> second = get("/whole", room, SILENCE);
        await(() -> room.waiting() == 1);
        assertThat(get("/small", room, Duration.ZERO).join()).isInstanceOf(ExchangeEnd.Answer.class);
        LockSupport.parkNanos(LONGER_THAN_SILENCE.toNanos());
        assertThat(second).isNotDone();

        server.release();

        assertWhole(first.join());
        assertWhole(second.join());
        await(() -> room.taken() == 0);
    }

    @Test
    void anAnswerBeyondTheLimitThatIsNotFinishedIsGivenUpForAnother() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, Duration.ofMillis(500));
        CompletableFuture<ExchangeEnd> first = get("/whole?pause", room, Duration.ZERO);
        await(() -> room.taken() > LARGE);

        CompletableFuture<ExchangeEnd> second = get("/whole", room, Duration.ZERO);

        assertWhole(second.join());
        assertThat(first.join())
                .isInstanceOfSatisfying(
                        ExchangeEnd.NoAnswer.class,
                        none -> assertThat(none.cause()).hasMessageContaining("while others waited"));
        await(() -> room.taken() == 0);
    }

    @Test
    void aLargeEventTakesRoomUntilItIsTaken() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, Duration.ofMillis(100));
        CompletableFuture<ExchangeEnd> first = get("/stream", room, Duration.ZERO);
        await(server.asked()::isDone); // its server has sent all of it, and nobody waits for that any more
        assertThat(room.taken()).isGreaterThan(2 * LARGE);
        CompletableFuture<ExchangeEnd> second = get("/stream", room, SILENCE);
        await(() -> room.waiting() == 1);
        LockSupport.parkNanos(LONGER_THAN_SILENCE.toNanos());
        assertThat(room.waiting()).isOne();

        server.take();

        assertThat(first.join()).isEqualTo(new ExchangeEnd.StreamEnded());
        assertThat(second.join()).isEqualTo(new ExchangeEnd.StreamEnded());
        await(() -> room.taken() == 0);
    }

    @Test
    void anAnswerThatIsBrokenOffGivesItsRoomBack() {
        ByteBudget room = new ByteBudget(Long.MAX_VALUE, 0, LONG);
        CompletableFuture<ExchangeEnd> whole = get("/whole?pause", room, SILENCE);
        await(() -> room.taken() > 0);
        CompletableFuture<ExchangeEnd> stream = get("/stream?pause", room, SILENCE);

        assertThat(whole.join()).isInstanceOf(ExchangeEnd.NoAnswer.class);
        assertThat(stream.join()).isInstanceOf(ExchangeEnd.StreamBroken.class);
        await(() -> room.taken() == 0);
    }
}
