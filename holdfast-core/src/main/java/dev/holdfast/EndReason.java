package dev.holdfast;

/** Why a session, a stream or a reader ended: a stable code for logs and metrics, and what the client does best. */
public enum EndReason {
    /** The last response was committed. */
    COMPLETED(1000, Advice.NOTHING, "completed"),
    /** The client asked for the end (HTTP DELETE). */
    TERMINATED(1001, Advice.START_OVER, "terminated by the client"),
    /** The idle timeout or the grace period ran out. */
    EXPIRED(1002, Advice.START_OVER, "expired"),
    /** The last connection broke, or its node has lost its lease of a shared store, and the grace period is zero. */
    DISCONNECTED(1003, Advice.START_OVER, "connection lost, and no grace period is configured"),
    /** The engine, or a principal, has as many sessions as it may, and this one had neither a connection nor a running call. */
    EVICTED(1004, Advice.START_OVER, "evicted to make room for another session"),
    /** What must not be dropped exceeds the history limit of the session, or of the engine. */
    OVERFLOW(1005, Advice.START_OVER, "undelivered messages exceed the history limit"),
    /** A fresh backend could not be brought to the state of the old one, or what was kept of the session cannot be read. */
    RESTORE_FAILED(1006, Advice.START_OVER, "the backend could not be restored"),
    /** The store works, and does not have the session any more. */
    STORE_FAILED(1007, Advice.START_OVER, "the store does not have the session any more"),
    /** The server is shutting down; a connection comes back to its successor. */
    DRAINED(1008, Advice.RECONNECT, "the server is shutting down"),
    /** The client cancelled the call. */
    CANCELLED(1009, Advice.NOTHING, "cancelled"),
    /** The session has left memory and stays in the store; the next request with its id brings it back. */
    PARKED(1010, Advice.RECONNECT, "the session was parked and can be brought back"),
    /**
     * Another server has claimed the session, or has found this node dead and ended its right to it; whoever asks for it next finds it
     * there, or brings it back.
     */
    TAKEN_OVER(1011, Advice.RECONNECT, "another server has taken the session over"),
    /** A newer connection took the stream over. */
    SUPERSEDED(2001, Advice.NOTHING, "taken over by a newer connection"),
    /** The backend asked the client to come back later. */
    POLLING(2003, Advice.RECONNECT, "the server asked the client to come back");

    /** What a client does best after an end. */
    public enum Advice {
        /** Nothing is missing. */
        NOTHING,
        /** Come back with {@code Last-Event-ID}. */
        RECONNECT,
        /** The session is gone; initialize again. */
        START_OVER
    }

    private final int code;
    private final Advice advice;
    private final String text;

    EndReason(int code, Advice advice, String text) {
        this.code = code;
        this.advice = advice;
        this.text = text;
    }

    /** A number that never changes its meaning: 1000 and up end a session or stream, 2000 and up only a connection. */
    public int code() {
        return code;
    }

    /** What the client does best. */
    public Advice advice() {
        return advice;
    }

    /** The reason as a phrase for a log line or an error message. */
    public String text() {
        return text;
    }
}
