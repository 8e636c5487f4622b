package dev.holdfast;

/** What came of the wish to end a session that is named by the beginning of its id. */
public enum Termination {
    /** One session has that name, and it has ended. */
    ENDED,
    /** No session in memory has that name, and none that was parked here. */
    UNKNOWN,
    /** Several sessions have that name, and none of them was ended. */
    AMBIGUOUS
}
