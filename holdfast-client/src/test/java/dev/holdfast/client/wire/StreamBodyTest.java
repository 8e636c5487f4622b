package dev.holdfast.client.wire;

import static dev.holdfast.client.Eventually.now;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class StreamBodyTest {
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final CompletableFuture<Void> taken = new CompletableFuture<>();
    private boolean cancelled;
    /** Some senders tell at once what came of it. */
    private Runnable whenCancelled = () -> {};

    private final StreamBody body = new StreamBody(
            new Means(
                    HttpSender.by(HttpClient.newHttpClient()),
                    Runnable::run,
                    Runnable::run,
                    clock,
                    () -> 0.5,
                    Redirects.NONE),
            1_000,
            new HeartbeatWatch(Duration.ZERO),
            new StreamHandler() {
                @Override
                public void opened(HttpHeaders headers) {}

                @Override
                public CompletionStage<Void> event(SseEvent event) {
                    return taken;
                }

                @Override
                public void retry(long millis) {}
            });

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    private void open() {
        body.onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
                cancelled = true;
                whenCancelled.run();
            }
        });
        body.onNext(List.of(ByteBuffer.wrap("data: one\n\n".getBytes(UTF_8))));
    }

    @Test
    void aStreamThatIsBrokenOffIsNotReadAnyMore() {
        open();

        body.abort(new AbortedException("not wanted any more"));

        assertThat(cancelled).isTrue();
        assertThat(now(body.getBody())).isInstanceOf(ExchangeEnd.StreamBroken.class);
    }

    /** Its connection may carry another exchange by then, which would break. */
    @Test
    void theConnectionOfAStreamThatCameToItsEndIsLeftAlone() {
        open();
        body.onComplete();
        assertThat(body.getBody().toCompletableFuture()).isNotDone();

        body.abort(new AbortedException("not wanted any more"));

        assertThat(cancelled).isFalse();
        assertThat(body.read()).isTrue();
        assertThat(now(body.getBody())).isInstanceOf(ExchangeEnd.StreamBroken.class);
    }

    private Throwable cause() {
        ExchangeEnd end = now(body.getBody());
        return ((ExchangeEnd.StreamBroken) end).cause();
    }

    @Test
    void aStreamBreaksForTheFirstCause() {
        whenCancelled = () -> body.onError(new CancellationException("not wanted any more"));
        open();
        taken.complete(null);

        body.abort(new SilenceException(1));

        assertThat(cause()).isInstanceOf(SilenceException.class);
    }

    @Test
    void aStreamBreaksForTheFirstCauseThoughAnEventIsStillToBeTaken() {
        open();
        body.onNext(List.of(ByteBuffer.wrap(("data: " + "x".repeat(12_000)).getBytes(UTF_8))));
        body.onError(new CancellationException("not wanted any more"));
        assertThat(body.getBody().toCompletableFuture()).isNotDone();

        taken.complete(null);

        assertThat(cause()).isInstanceOf(OversizedEventException.class);
    }
}
