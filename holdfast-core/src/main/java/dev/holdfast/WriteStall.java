package dev.holdfast;

/** What happened to a connection whose peer takes no bytes. */
public enum WriteStall {
    /** It began to wait for its peer. */
    WAITED,
    /** It waited for as long as it may, and was ended. */
    ENDED
}
