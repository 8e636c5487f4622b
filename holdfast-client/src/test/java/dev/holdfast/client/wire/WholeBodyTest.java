package dev.holdfast.client.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

class WholeBodyTest {
    @Test
    void aBodyThatIsTooLongSaysSoThoughItsSenderTellsOfTheCancellationAtOnce() {
        WholeBody body = new WholeBody(2);
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
