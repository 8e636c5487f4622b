package dev.holdfast.tck;

import dev.holdfast.cluster.SharedSessionStore;

/** What a test needs of a store that nodes share. */
public interface SharedBed extends StoreBed {
    @Override
    SharedSessionStore store();

    /** The same sessions as another node sees them: another object where each node has its own; the bed closes it too. */
    SharedSessionStore elsewhere();
}
