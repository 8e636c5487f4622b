package dev.holdfast.servlet;

/** Which requests of the stateless revision share one session, and so one connection to the backend with what it keeps for that. */
public enum Isolation {
    /** None: each request gets a session that ends with it. */
    REQUEST,
    /**
     * Those of one principal whose clients declare the same capabilities; without authentication those of all clients. What the backend
     * keeps for a session, such as a log level, is theirs together.
     */
    PRINCIPAL,
    /**
     * Those of everybody whose clients declare the same capabilities: for a backend that keeps nothing for a session. Questions, progress
     * and tasks stay each client's own; a session is nobody's, and counts for no principal.
     */
    SHARED
}
