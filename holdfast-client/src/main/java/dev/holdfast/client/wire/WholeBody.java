package dev.holdfast.client.wire;

import dev.holdfast.ByteBudget;
import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Collects a body that is no stream of events, up to a bound and while there is room, and knows since when nothing has come of it. */
final class WholeBody implements BodySubscriber<byte[]> {
    private final int most;
    private final ByteBudget.Reader room;
    private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
    private ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private Flow.@Nullable Subscription subscription;
    /** When the connection began to owe us bytes, by {@link System#nanoTime}; zero while it is not read. */
    private volatile long waitingSince;

    /**
     * A body of which nothing has come.
     *
     * @param room where it takes what it keeps; to be given back when it was passed on
     */
    WholeBody(int most, ByteBudget.Reader room) {
        this.most = most;
        this.room = room;
    }

    @Override
    public CompletionStage<byte[]> getBody() {
        return whole;
    }

    @Override
    public void onSubscribe(Flow.Subscription started) {
        subscription = started;
        ask();
    }

    private void ask() {
        Flow.Subscription open = subscription;
        if (open != null) {
            waitingSince = System.nanoTime() | 1;
            open.request(1);
        }
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        waitingSince = 0;
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
        room.hold(bytes.size(), this::ask);
    }

    /** How long nothing has come that was asked for, in nanoseconds. */
    long silence() {
        long since = waitingSince;
        return since == 0 ? 0 : System.nanoTime() - since;
    }

    @Override
    public void onError(Throwable failure) {
        room.close();
        whole.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
        room.passing();
        byte[] all = bytes.toByteArray();
        bytes = new ByteArrayOutputStream(0); // it may be as large, and is there as long as the answer
        whole.complete(all);
    }
}
