package dev.holdfast.gateway.text;

/** The gateway cannot run here; the message tells its user why, in one line. */
public final class GatewayException extends RuntimeException {
    public GatewayException(String message) {
        super(message);
    }

    public GatewayException(String message, Throwable cause) {
        super(message, cause);
    }
}
