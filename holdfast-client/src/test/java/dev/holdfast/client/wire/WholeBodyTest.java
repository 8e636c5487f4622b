package dev.holdfast.client.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpClient;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WholeBodyTest {
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    @Test
    void aBodyThatIsTooLongSaysSoThoughItsSenderTellsOfTheCancellationAtOnce() {
        Means means = new Means(
                HttpSender.by(HttpClient.newHttpClient()),
                Runnable::run,
                Runnable::run,
                clock,
                () -> 0.5,
                Redirects.NONE);
        WholeBody body = new WholeBody(2, means.reader(failure -> {}));
        body.onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
                body.onError(new CancellationException("not wanted any more"));
            }
        });

        body.onNext(List.of(ByteBuffer.allocate(3)));

        assertThat(body.getBody().toCompletableFuture().handle((bytes, failure) -> failure))
                .isCompletedWithValueMatching(OversizedEventException.class::isInstance);
    }
}
