package dev.holdfast;

/** What came of looking for a session. */
public sealed interface Finding permits Finding.Found, Finding.Missing, Unavailable {
    /**
     * The session is there.
     *
     * @param session the session
     */
    record Found(Session session) implements Finding {}

    /** There is no such session for this principal. */
    record Missing() implements Finding {}
}
