package dev.holdfast.client;

import java.io.IOException;

/** A server sent what is no JSON-RPC message. */
public final class UnreadableMessageException extends IOException {
    UnreadableMessageException(String reason) {
        super("the server sent what is no JSON-RPC message: " + reason);
    }
}
