package dev.holdfast.client.wire;

import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Collects a body that is no stream of events, up to a bound, and knows since when nothing has come of it. */
final class WholeBody implements BodySubscriber<byte[]> {
    private final int most;
    private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private Flow.@Nullable Subscription subscription;
    /** By {@link System#nanoTime}. */
    private volatile long lastAt = System.nanoTime();

    WholeBody(int most) {
        this.most = most;
    }

    @Override
    public CompletionStage<byte[]> getBody() {
        return whole;
    }

    @Override
    public void onSubscribe(Flow.Subscription started) {
        subscription = started;
        started.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        lastAt = System.nanoTime();
        for (ByteBuffer buffer : buffers) {
            if ((long) bytes.size() + buffer.remaining() > most) {
                // first: some senders tell of the cancellation while it is made
                whole.completeExceptionally(new OversizedEventException(most, Optional.empty()));
                if (subscription != null) {
                    subscription.cancel();
                }
                return;
            }
            byte[] part = new byte[buffer.remaining()];
            buffer.get(part);
            bytes.write(part, 0, part.length);
        }
    }

    /** How long nothing has come, in nanoseconds. */
    long silence() {
        return System.nanoTime() - lastAt;
    }

    @Override
    public void onError(Throwable failure) {
        whole.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
        whole.complete(bytes.toByteArray());
    }
}
