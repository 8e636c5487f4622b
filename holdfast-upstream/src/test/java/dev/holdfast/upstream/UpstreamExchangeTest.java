package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.OversizedEventException;
import dev.holdfast.client.wire.SilenceException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** What an exchange says that this side breaks off, over each HTTP client: why it did so, and not what came of that. */
@Tag("jdk")
@ParameterizedClass
@MethodSource("clients")
@Timeout(30)
@Execution(ExecutionMode.CONCURRENT)
class UpstreamExchangeTest {
    private static final int MOST_BYTES = 100;

    @AutoClose
    private final AskedServer server;

    UpstreamExchangeTest(UpstreamHttp http) throws IOException {
        server = new AskedServer(http);
    }

    static Stream<Named<UpstreamHttp>> clients() {
        return AskedServer.clients();
    }

    /** An answer that begins so, and then is silent. */
    private void serve(String type, String beginning) {
        server.serve("/", answered -> {
            answered.getResponseHeaders().set("Content-Type", type);
            answered.sendResponseHeaders(200, 0);
            answered.getResponseBody().write(beginning.getBytes(UTF_8));
            answered.getResponseBody().flush();
            server.awaitRelease();
            answered.close();
        });
    }

    private CompletableFuture<ExchangeEnd> get(Duration silence) {
        return server.get("/", MOST_BYTES, silence, means -> means);
    }

    private static Throwable broken(ExchangeEnd end) {
        assertThat(end).isInstanceOf(ExchangeEnd.StreamBroken.class);
        return ((ExchangeEnd.StreamBroken) end).cause();
    }

    private static Throwable unanswered(ExchangeEnd end) {
        assertThat(end).isInstanceOf(ExchangeEnd.NoAnswer.class);
        return ((ExchangeEnd.NoAnswer) end).cause();
    }

    @Test
    void aStreamThatIsBrokenForItsSilenceSaysSo() {
        serve("text/event-stream", ": there\n\n");

        assertThat(broken(get(Duration.ofSeconds(2)).join())).isInstanceOf(SilenceException.class);
    }

    @Test
    void aStreamThatIsBrokenForAnOversizedEventSaysSoOnceThoseBeforeItAreTaken() {
        serve("text/event-stream", "data: one\n\ndata: " + "x".repeat(2 * MOST_BYTES) + "\n\n");
        CompletableFuture<ExchangeEnd> end = get(Duration.ZERO);
        server.asked().orTimeout(20, TimeUnit.SECONDS).join();
        // long enough for all that comes of breaking it off
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
        assertThat(end).isNotDone();

        server.take();

        assertThat(broken(end.join())).isInstanceOf(OversizedEventException.class);
    }

    @Test
    void anAnswerThatIsTooLongSaysSo() {
        serve("application/json", "x".repeat(2 * MOST_BYTES));

        assertThat(unanswered(get(Duration.ZERO).join())).isInstanceOf(OversizedEventException.class);
    }

    @Test
    void anAnswerThatIsBrokenForItsSilenceSaysSo() {
        serve("application/json", "{");

        assertThat(unanswered(get(Duration.ofSeconds(2)).join())).isInstanceOf(SilenceException.class);
    }
}
