package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;

/** The way back of a call, with a memory. */
final class RecordedCall implements CallSink {
    private final CompletionStage<Void> commit;
    private final BlockingQueue<OutboundMessage> messages = new LinkedBlockingQueue<>();
    private volatile CancelHook hook = notification -> {};
    private volatile Optional<Optional<InboundMessage>> cancelled = Optional.empty();

    /** A call whose messages are committed at once. */
    RecordedCall() {
        this(CompletableFuture.completedFuture(null));
    }

    /** A call whose messages are committed when this stage completes. */
    RecordedCall(CompletionStage<Void> commit) {
        this.commit = commit;
    }

    /** The text of the next message. */
    String next() {
        return TestJson.text(Wait.next(messages));
    }

    int waiting() {
        return messages.size();
    }

    void cancel(Optional<InboundMessage> notification) {
        cancelled = Optional.of(notification);
        hook.cancelled(notification);
    }

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        messages.add(message);
        return commit;
    }

    @Override
    public void onCancel(CancelHook next) {
        hook = next;
        cancelled.ifPresent(next::cancelled);
    }

    @Override
    public void disconnect(Duration retry) {}

    @Override
    public String sessionId() {
        return "session";
    }
}
