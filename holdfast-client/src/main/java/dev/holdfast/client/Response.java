package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The response that a request waits for: handed to the sink once, whichever stream brings it. While the sink takes it, any other end of
 * the request waits, and counts only if the sink fails. Thread-safe.
 */
final class Response {
    private final Envelope request;
    private final ToldProgress told;
    private final MessageSink sink;
    private final Executor delivery;
    private final Consumer<Outcome> ends;
    private final Runnable again;
    private State state = State.AWAITED;
    /** The end of the request if the sink fails. */
    private @Nullable Outcome pendingEnd;
    /** Whether the request is sent again if the sink fails. */
    private boolean pendingAsk;

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
     * @param sink takes it
     * @param delivery runs what takes it from elsewhere than its stream
     * @param ends hears once how the request has ended
     * @param again asks for it once more where the taking has failed
     */
    Response(
            Envelope request,
            ToldProgress told,
            MessageSink sink,
            Executor delivery,
            Consumer<Outcome> ends,
            Runnable again) {
        this.request = request;
        this.told = told;
        this.sink = sink;
        this.delivery = delivery;
        this.ends = ends;
        this.again = again;
    }

    /** Whether the request may be sent. While the sink takes the response, it is sent only after the sink has failed. */
    synchronized boolean asks() {
        pendingAsk |= state == State.BEING_TAKEN;
        return state == State.AWAITED;
    }

    /** Ends the request without the response, unless the sink has it or takes it now. The first end counts. */
    void giveUp(Outcome how) {
        synchronized (this) {
            if (state == State.BEING_TAKEN && pendingEnd == null) {
                pendingEnd = how;
            }
            if (state != State.AWAITED) {
                return;
            }
            state = State.GIVEN_UP;
        }
        ends.accept(how);
    }

    boolean isIn(Envelope received) {
        return MessageBodies.isResponse(received) && received.id().equals(request.id());
    }

    /** Hands the response to the sink, unless that was done or the request has ended. */
    CompletionStage<Void> take(Envelope received) {
        synchronized (this) {
            if (state != State.AWAITED) {
                return CompletableFuture.completedFuture(null);
            }
            state = State.BEING_TAKEN;
        }
        return MessageBodies.handOver(received, sink).whenComplete((nothing, failure) -> {
            if (failure == null) {
                succeeded();
            } else {
                failed();
            }
        });
    }

    private void succeeded() {
        synchronized (this) {
            state = State.TAKEN;
        }
        ends.accept(new Outcome.Done());
    }

    private void failed() {
        Outcome end;
        boolean asks;
        synchronized (this) {
            state = State.AWAITED;
            end = pendingEnd;
            asks = pendingAsk;
            pendingEnd = null;
            pendingAsk = false;
        }
        if (end != null) {
            giveUp(end);
        } else if (asks) {
            again.run();
        }
    }

    /** Whether the sink has the response, or takes it now. */
    synchronized boolean taken() {
        return state == State.BEING_TAKEN || state == State.TAKEN;
    }

    /**
     * Takes messages that should contain the response, on a thread of the application.
     *
     * @param missing runs if they do not
     */
    void deliver(Supplier<CompletionStage<Void>> messages, Runnable missing) {
        try {
            delivery.execute(() -> CompletableFuture.<Void>completedFuture(null)
                    .thenCompose(nothing -> messages.get())
                    .whenComplete((nothing, failure) -> {
                        if (failure != null || taken()) {
                            String why = failure == null ? "" : ": " + failure;
                            giveUp(new Outcome.Unreadable("the response was not taken" + why));
                        } else {
                            missing.run();
                        }
                    }));
        } catch (RejectedExecutionException e) {
            giveUp(new Outcome.Closed());
        }
    }

    /** The response was seen on another stream, but is left to the stream of the request, which brings earlier messages first. */
    void leave(Envelope received) {
        if (isIn(received)) {
            left = received;
        }
    }

    @Nullable Envelope left() {
        return left;
    }

    ToldProgress told() {
        return told;
    }

    /** Passes progress of the request on, unless the request was sent again and this repeats what was told before. */
    CompletionStage<Void> progress(Envelope notification, MessageSink taker) {
        heard = true;
        return told.pass(notification, taker);
    }

    /** A message has come on the stream of the request. */
    void came(Envelope received) {
        tellsProgress |= concerns(received);
    }

    /** Whether progress of the request has come on its stream. */
    boolean tellsProgress() {
        return tellsProgress;
    }

    /** Whether progress of the request has come since this was asked for the last time. */
    boolean heard() {
        boolean came = heard;
        heard = false;
        return came;
    }

    /** Whether a message is the response, or tells the progress of the request. */
    boolean concerns(Envelope received) {
        return isIn(received)
                || (MessageBodies.isProgress(received)
                        && received.progressToken().equals(request.progressToken()));
    }
}
