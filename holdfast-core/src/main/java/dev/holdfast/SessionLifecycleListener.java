package dev.holdfast;

import java.time.Duration;
import java.util.List;

/**
 * Hears of what happens to sessions. Called without a lock on whichever thread caused the event, in the order of one session's
 * events as far as its threads have an order; it must not block. What it throws is logged and changes nothing.
 */
public interface SessionLifecycleListener {
    /** Hears nothing. */
    SessionLifecycleListener NONE = new SessionLifecycleListener() {};

    /** Tells several listeners, in order, each whatever the others throw. */
    static SessionLifecycleListener all(List<SessionLifecycleListener> listeners) {
        return switch (listeners.size()) {
            case 0 -> NONE;
            case 1 -> listeners.get(0);
            default -> new Listeners(List.copyOf(listeners));
        };
    }

    /** A session has been opened and its client is about to learn its id. */
    default void onSessionCreated(String sessionId) {}

    /**
     * The last connection of a session broke. Not called where the grace period is zero: then the session ends.
     *
     * @param grace how long the session waits for the client from now on, if no call of it runs
     */
    default void onSessionDetached(String sessionId, Duration grace) {}

    /** The client of a detached session is back. */
    default void onSessionReconnected(String sessionId) {}

    /**
     * A session got a fresh backend, brought to the state of the one before. Where an earlier process has opened the session,
     * there was no {@link #onSessionCreated} here; other events of its new life may come before this one, and its end in the place
     * of it.
     */
    default void onSessionRestored(String sessionId) {}

    /**
     * An attempt has ended to bring a fresh backend to the state of the one before.
     *
     * @param took how long it took to open it and to replay what the one before had been told
     */
    default void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {}

    /**
     * The fresh backend of a session says something else of itself than the one before: its capabilities, its name or its version
     * are not the same. Its client is sent {@code list_changed} for each list whose changes it was promised to hear of.
     */
    default void onBackendChanged(String sessionId) {}

    /**
     * The backend of a session that is not in use was ended, because there are as many as there may be and another session needs one.
     * The session gets a fresh one when it is used again.
     */
    default void onBackendReleased(String sessionId) {}

    /**
     * A session has left memory and waits in the store; the next request with its id brings it back. Told too of those that a node gives
     * up because it has lost its lease of a shared store; one whose grace period is zero has ended then.
     */
    default void onSessionParked(String sessionId) {}

    /**
     * A session has ended: one in memory, one that this engine has parked (told when the store has deleted it), or one that it ends in the
     * store. Not called for one that waits in the store when this process ends. Where nodes share the store, not called for one that was
     * parked either, and {@link EndReason#TAKEN_OVER} says only that it has left this node: it may come back.
     */
    default void onSessionClosed(String sessionId, EndReason reason) {}

    /**
     * A client missed messages that were dropped before it could read them, or may have missed some that the store lost.
     *
     * @param stream the stream: the counter of the epoch that created it and its number there, in decimal with a dot between; {@code 0.0}
     *     is the listening stream. Event ids have the same numbers in base 36
     */
    default void onGap(String sessionId, String stream) {}

    /** A call ran longer than it may: its client got an error, and its backend was told to stop. */
    default void onCallTimedOut(String sessionId) {}

    /** Something happened to a call of a revision without sessions whose client may come back for it; the session carries it. */
    default void onTask(String sessionId, TaskEvent event) {}

    /** Something a client asked for was refused. */
    default void onRefused(Refusal reason) {}

    /** What happened to a call of a revision without sessions whose client has a handle to come back for it. */
    public enum TaskEvent {
        /** Its client was given a task in the place of a result. */
        CREATED,
        /** Its client was asked for input in the place of a result. */
        INPUT_REQUIRED,
        /** Its client came back with the input, and reads on. */
        INPUT_GIVEN,
        /** Its client did not come back with the input for as long as it may take, and the call was given up. */
        INPUT_MISSED
    }
}
