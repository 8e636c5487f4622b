package dev.holdfast.client.wire;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** A connection was silent for longer than its server's heartbeats allow: the peer is gone, or what is between. */
public final class SilenceException extends IOException {
    private final long nanos;

    SilenceException(long nanos) {
        super("no bytes for " + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms");
        this.nanos = nanos;
    }

    /** How long it was silent, in nanoseconds. */
    public long nanos() {
        return nanos;
    }
}
