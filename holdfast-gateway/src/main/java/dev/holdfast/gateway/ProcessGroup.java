package dev.holdfast.gateway;

/** A child and all that it started, as far as they can be reached together. Its methods may block for milliseconds. */
interface ProcessGroup {
    /** How strongly a process is asked to end. */
    enum Signal {
        TERM,
        KILL
    }

    /** Asks every process of the group to end. */
    void signal(Signal signal);

    /** Whether a process of the group still runs. One that has ended, and only waits to be noticed, does not. */
    boolean alive();
}
