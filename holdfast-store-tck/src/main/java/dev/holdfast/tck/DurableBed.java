package dev.holdfast.tck;

/** A bed whose store declares that it survives process death, or more. */
public interface DurableBed extends StoreBed {
    /** Closes the store in order; {@link #store} is then one that was opened on what it kept. */
    void reopen();

    /**
     * Leaves the store as it stands, as a process that dies does, without its close; {@link #store} is then one that was
     * opened on what was kept at this moment.
     */
    void crash();
}
