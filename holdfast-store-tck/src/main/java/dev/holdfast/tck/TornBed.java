package dev.holdfast.tck;

import dev.holdfast.spi.SessionStore;

/** A bed whose store writes a log to a file of its own, the tail of which a crash may tear. */
public interface TornBed extends DurableBed {
    /** How long the log is, in bytes; it grows with every append. */
    long logBytes();

    /** Opens a store on a copy of what is kept, the log cut to so many bytes. The test closes it. */
    SessionStore openCut(long bytes);

    /** Opens a store on a copy of what is kept, with another byte at this place of the log. The test closes it. */
    SessionStore openFlipped(long at);
}
