package dev.holdfast;

/** How an attempt ended to bring a fresh backend to the state of the one before. */
public enum RestoreOutcome {
    /** It is there. */
    RESTORED,
    /** It could not be reached, or was lost meanwhile: the next request tries again. */
    PUT_OFF,
    /** It refuses the session, which ends. */
    FAILED
}
