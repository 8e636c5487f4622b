package dev.holdfast.client;

import java.io.IOException;

/** A message that this side does not send: too many are under way, or one with its id is. */
public final class NotTakenException extends IOException {
    private static final long serialVersionUID = 1L;

    /** With a sentence for the sender. */
    public NotTakenException(String message) {
        super(message);
    }
}
