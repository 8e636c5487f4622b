package dev.holdfast.client.wire;

import java.io.IOException;

/** A connection was silent for longer than its server's heartbeats allow: the peer is gone, or what is between. */
public final class SilenceException extends IOException {
    SilenceException(long millis) {
        super("no bytes for " + millis + " ms");
    }
}
