package dev.holdfast.tck;

import dev.holdfast.spi.SessionKey;

/** A bed that can spoil what its store keeps, as a disk does that gives back something else than was written. */
public interface DamagedBed extends DurableBed {
    /** Makes the record of a session unreadable for good; {@link #store} may be another one then, opened on what it kept. */
    void spoilRecord(SessionKey key);

    /** Makes an event of the session's listening stream unreadable for good; {@link #store} may be another one then. */
    void spoilEvent(SessionKey key, long offset);
}
