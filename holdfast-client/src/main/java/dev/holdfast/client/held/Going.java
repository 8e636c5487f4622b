package dev.holdfast.client.held;

import dev.holdfast.json.Envelope;
import java.util.Optional;

/**
 * A request of the application under way, over all sessions that it is tried in. One that was given up enters no session any more.
 * Thread-safe.
 */
final class Going {
    private final Envelope request;
    private Optional<Place.At> where = Optional.empty();
    private boolean cancelled;

    /** A request that was given to no session. */
    Going(Envelope request) {
        this.request = request;
    }

    Envelope request() {
        return request;
    }

    /** A session is about to get it; false if it must not. */
    synchronized boolean enters(Place.At session) {
        where = cancelled ? Optional.empty() : Optional.of(session);
        return !cancelled;
    }

    /** The session has not answered it, and does not have it any more. */
    synchronized void leaves() {
        where = Optional.empty();
    }

    /** The session that has it. */
    synchronized Optional<Place.At> where() {
        return where;
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
