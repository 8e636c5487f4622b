package dev.holdfast.client.held;

import dev.holdfast.client.ToldProgress;
import dev.holdfast.json.Envelope;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A request of the application under way, over all sessions that it is tried in. One that was given up enters no session any more.
 * Thread-safe.
 */
final class Going {
    private final Envelope request;
    private final ToldProgress told = new ToldProgress();
    private Optional<CompletableFuture<Place.At>> session = Optional.empty();
    private boolean cancelled;

    /** A request that was given to no session. */
    Going(Envelope request) {
        this.request = request;
    }

    Envelope request() {
        return request;
    }

    /** What the application was told of its progress. */
    ToldProgress told() {
        return told;
    }

    /** A session is about to get it; false if none must. */
    synchronized boolean enters() {
        session = cancelled ? Optional.empty() : Optional.of(new CompletableFuture<>());
        return !cancelled;
    }

    /** This session has it now. */
    void entered(Place.At has) {
        session().ifPresent(entering -> entering.complete(has));
    }

    /** The session has not answered it, and does not have it any more. */
    synchronized void leaves() {
        session = Optional.empty();
    }

    /** The session that has it; completes when it has it. */
    synchronized Optional<CompletableFuture<Place.At>> session() {
        return session;
    }

    /** The application gives it up. */
    synchronized void cancel() {
        cancelled = true;
    }

    /** Whether the application has given it up. */
    synchronized boolean cancelled() {
        return cancelled;
    }
}
