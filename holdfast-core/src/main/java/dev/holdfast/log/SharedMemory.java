package dev.holdfast.log;

/** Counts what all sessions of a node keep. Safe for use by any thread, inside a step too. */
public interface SharedMemory {
    /** A session keeps so many more bytes and events, or fewer. Returns whether all of them together now keep too much. */
    boolean add(long moreBytes, long moreEvents);

    /** An event was dropped because a limit asked for it. */
    void dropped();
}
