package dev.holdfast.gateway.stdio;

import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Waits for a child's answer to {@code initialize}: the sink of the one call that is made before there is a session. */
final class Handshake implements CallSink {
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final CompletableFuture<End> end = new CompletableFuture<>();

    /** How it ended. */
    sealed interface End {}

    /** The child has answered, with a result or an error. */
    record Answered(OutboundMessage response) implements End {}

    /** The child will not answer, for this reason. */
    record Failed(String cause) implements End {}

    /** The answer is not wanted any more, for this reason. */
    record Abandoned(String cause) implements End {}

    /** Completes when it is known how it ended. */
    CompletionStage<End> end() {
        return end;
    }

    /** Whether the answer is still awaited. */
    boolean open() {
        return !end.isDone();
    }

    /** Whether the handshake has ended without an answer. */
    boolean unanswered() {
        return end.isDone() && !(end.join() instanceof Answered);
    }

    /** Ends the handshake without an answer; false if it has ended already. */
    boolean fail(String cause) {
        return end.complete(new Failed(cause));
    }

    /** Gives up the answer; changes nothing if the handshake has ended already. */
    void abandon(String cause) {
        end.complete(new Abandoned(cause));
    }

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        if (EventKind.answers(message.kind())) {
            end.complete(new Answered(message));
        }
        return DONE;
    }

    @Override
    public void onCancel(CancelHook hook) {}

    @Override
    public void disconnect(Duration retry) {}

    @Override
    public String sessionId() {
        return "";
    }
}
