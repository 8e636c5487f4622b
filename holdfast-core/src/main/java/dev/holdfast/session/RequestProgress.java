package dev.holdfast.session;

/** How far a request is. */
enum RequestProgress {
    /** No backend has it. */
    WAITING,
    /** A backend is being given it. */
    ENTERING,
    /** The backend that is being given it was lost; it may still give it back. */
    STRANDED,
    /** A backend has it. */
    RUNNING,
    /** Its answer stands in the outbox. */
    ANSWERED,
    /** Its answer is committed, or there will be none. */
    OVER
}
