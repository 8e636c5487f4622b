package dev.holdfast.tck;

import dev.holdfast.spi.SessionKey;

/** A bed that can take away what its store keeps of a session's events, and leave its record, as an eviction or a damaged disk does. */
public interface LossyBed extends StoreBed {
    /** Takes away every event that is kept of a session; {@link #store} may be another one then, opened on what is left. */
    void loseEvents(SessionKey key);
}
