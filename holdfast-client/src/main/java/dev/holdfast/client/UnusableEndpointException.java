package dev.holdfast.client;

import java.io.IOException;

/** A server over HTTP+SSE named an endpoint that nothing is sent to. */
public final class UnusableEndpointException extends IOException {
    UnusableEndpointException(String reason) {
        super("the server names an endpoint that cannot be used: " + reason);
    }
}
