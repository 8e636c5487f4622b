package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The response that a request waits for, and what comes before it: handed over once, on whichever stream it comes. While it is being
 * taken, every other end of the request waits, and counts only where the taking fails. Thread-safe.
 */
final class Response {
    private final Envelope request;
    private final ToldProgress told;
    private final MessageSink sink;
    private final Runnable done;
    private State state = State.AWAITED;
    /** How the request ends if the taking fails. */
    private Optional<Runnable> end = Optional.empty();
    /** How the response is asked for once more if the taking fails. */
    private Optional<Runnable> question = Optional.empty();

    private volatile boolean tellsProgress;
    private volatile boolean heard;
    private volatile @Nullable Envelope left;

    private enum State {
        AWAITED,
        /** The sink has it, and may yet fail. */
        BEING_TAKEN,
        TAKEN,
        /** The request has ended without it. */
        GIVEN_UP
    }

    /**
     * A response that has not come.
     *
     * @param told what was told of the progress of its request
     * @param sink takes it, and the messages before it
     * @param done runs once the response was taken
     */
    Response(Envelope request, ToldProgress told, MessageSink sink, Runnable done) {
        this.request = request;
        this.told = told;
        this.sink = sink;
        this.done = done;
    }

    /** Whether it has come, and the sink has it or is about to. */
    synchronized boolean taken() {
        return state == State.BEING_TAKEN || state == State.TAKEN;
    }

    /** Runs an end of the request, at most one in all: not while the response is being taken, and never once it was. The first one counts. */
    void giveUp(Runnable ending) {
        synchronized (this) {
            if (state == State.BEING_TAKEN && end.isEmpty()) {
                end = Optional.of(ending);
            }
            if (state != State.AWAITED) {
                return;
            }
            state = State.GIVEN_UP;
        }
        ending.run();
    }

    /** Runs what asks for it: not while it is being taken, and never once it was taken or given up. */
    void ask(Runnable asking) {
        synchronized (this) {
            if (state == State.BEING_TAKEN) {
                question = Optional.of(asking);
            }
            if (state != State.AWAITED) {
                return;
            }
        }
        asking.run();
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
        if (!begins()) {
            return CompletableFuture.completedFuture(null);
        }
        CompletionStage<Void> taken;
        try {
            taken = sink.message(received);
        } catch (RuntimeException | Error e) {
            failed();
            throw e;
        }
        return taken.whenComplete((nothing, failure) -> {
            if (failure == null) {
                succeeded();
            } else {
                failed();
            }
        });
    }

    private synchronized boolean begins() {
        boolean first = state == State.AWAITED;
        if (first) {
            state = State.BEING_TAKEN;
        }
        return first;
    }

    private void succeeded() {
        synchronized (this) {
            state = State.TAKEN;
        }
        done.run();
    }

    private void failed() {
        Optional<Runnable> ending;
        Optional<Runnable> asking;
        synchronized (this) {
            state = State.AWAITED;
            ending = end;
            asking = question;
            end = Optional.empty();
            question = Optional.empty();
        }
        ending.ifPresentOrElse(this::giveUp, () -> asking.ifPresent(this::ask));
    }

    /**
     * What a body amounts to that was to bring it; empty where it was not in it.
     *
     * @param failure why its messages were not taken, if they were not
     */
    Optional<Outcome> untaken(@Nullable Throwable failure) {
        if (failure != null) {
            return Optional.of(new Outcome.Unreadable("the response was not taken: " + failure));
        }
        return taken() ? Optional.of(new Outcome.Unreadable("the response was not taken")) : Optional.empty();
    }

    /** Whether progress of the request has come on its stream. */
    boolean tellsProgress() {
        return tellsProgress;
    }

    /** Progress of the request has come, on whichever stream. */
    void hear() {
        heard = true;
    }

    /** Whether progress of the request has come since this was asked for the last time. */
    boolean heard() {
        boolean news = heard;
        heard = false;
        return news;
    }

    /** What was told of the progress of the request. */
    ToldProgress told() {
        return told;
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
