package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A session's listening stream, with a memory. */
final class RecordedListening implements ListeningSink {
    final BlockingQueue<String> losses = new LinkedBlockingQueue<>();
    private final BlockingQueue<OutboundMessage> messages = new LinkedBlockingQueue<>();
    /** The requests that a backend which is gone has done nothing of. */
    final BlockingQueue<String> givenBack = new LinkedBlockingQueue<>();

    final BlockingQueue<String> withdrawn = new LinkedBlockingQueue<>();
    private volatile Consumer<InboundMessage> taker = response -> {};
    final AtomicInteger unsolicited = new AtomicInteger();
    volatile boolean followed;
    private volatile Runnable abandon = () -> {};
    volatile CompletableFuture<Void> commit = CompletableFuture.completedFuture(null);

    /** The next message. */
    OutboundMessage message() {
        return Wait.next(messages);
    }

    /** The text of the next message. */
    String next() {
        return TestJson.text(message());
    }

    /** Lets the client answer while the connection is being opened. */
    void answerEarly(InboundMessage response) {
        taker.accept(response);
    }

    @Override
    public void onAnswer(Consumer<InboundMessage> next) {
        taker = next;
    }

    @Override
    public void withdrawn(RequestId question) {
        withdrawn.add(question.token());
    }

    @Override
    public void unsolicited() {
        unsolicited.incrementAndGet();
    }

    int waiting() {
        return messages.size();
    }

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        messages.add(message);
        return commit;
    }

    @Override
    public boolean attached() {
        return followed;
    }

    @Override
    public boolean followed() {
        return followed;
    }

    @Override
    public void onAbandon(Runnable hook) {
        abandon = hook;
    }

    /** Tells the backend that nobody waits for it any more. */
    void abandon() {
        abandon.run();
    }

    @Override
    public void lost(String cause) {
        losses.add(cause);
    }

    @Override
    public void lost(String cause, List<InboundMessage> untouched) {
        untouched.forEach(request -> givenBack.add(request.requiredId().token()));
        lost(cause);
    }

    @Override
    public String sessionId() {
        return "session";
    }
}
