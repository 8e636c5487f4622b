package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The response that a request waits for, and what comes before it: handed over once, on whichever stream it comes. Thread-safe. */
final class Response {
    private final Envelope request;
    private final MessageSink sink;
    private final Runnable done;
    private final AtomicBoolean taken = new AtomicBoolean();
    private volatile boolean tellsProgress;
    private volatile @Nullable Envelope left;

    /**
     * A response that has not come.
     *
     * @param sink takes it, and the messages before it
     * @param done runs once the response was taken
     */
    Response(Envelope request, MessageSink sink, Runnable done) {
        this.request = request;
        this.sink = sink;
        this.done = done;
    }

    /** Whether it has come, and the sink has it or is about to. */
    boolean taken() {
        return taken.get();
    }

    /** It was seen on another stream, and left to that of the request, which brings what comes before it too. */
    void leave(Envelope received) {
        if (answers(received)) {
            left = received;
        }
    }

    /** What was left to the stream of the request. */
    Optional<Envelope> left() {
        return Optional.ofNullable(left);
    }

    /** Takes a message of the server. */
    CompletionStage<Void> message(Envelope received) {
        if (!answers(received)) {
            if (!tellsProgress && concerns(received)) {
                tellsProgress = true;
            }
            return sink.message(received);
        }
        if (!taken.compareAndSet(false, true)) {
            return CompletableFuture.completedFuture(null);
        }
        return sink.message(received).whenComplete((nothing, failure) -> {
            if (failure == null) {
                done.run();
            } else {
                taken.set(false);
            }
        });
    }

    /**
     * What a body amounts to that was to bring it.
     *
     * @param failure why its messages were not taken, if they were not
     */
    Outcome outcome(@Nullable Throwable failure) {
        if (failure != null) {
            return new Outcome.Unreadable("the response was not taken: " + failure);
        }
        return taken() ? new Outcome.Done() : new Outcome.Unreadable("the answer has no response in it");
    }

    /** Whether progress of the request has come on its stream. */
    boolean tellsProgress() {
        return tellsProgress;
    }

    /** Whether a message is the response, or tells the progress of the request. */
    boolean concerns(Envelope received) {
        return answers(received)
                || (received.kind() == Envelope.Kind.NOTIFICATION
                        && received.progressToken().isPresent()
                        && received.progressToken().equals(request.progressToken()));
    }

    private boolean answers(Envelope received) {
        return (received.kind() == Envelope.Kind.RESPONSE || received.kind() == Envelope.Kind.ERROR)
                && received.id().equals(request.id());
    }
}
