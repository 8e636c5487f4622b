package dev.holdfast;

/** Where a session is in its life. */
public enum SessionState {
    /** Its backend is being opened; no client knows it yet. */
    OPENING,
    /** At least one connection reads one of its streams; there is no deadline. */
    ATTACHED,
    /** No connection reads, and the last one ended in order, or there was none: the idle timeout runs. */
    IDLE,
    /** No connection reads, and the last one broke: the grace period runs. */
    DETACHED,
    /** Ended; nothing can be sent or read any more. */
    CLOSED
}
