package dev.holdfast.client.wire;

import java.io.IOException;

/** The exchange was ended on this side. */
public final class AbortedException extends IOException {
    /** Says why. */
    public AbortedException(String why) {
        super(why);
    }
}
