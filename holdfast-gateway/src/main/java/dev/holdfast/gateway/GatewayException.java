package dev.holdfast.gateway;

/** The gateway cannot run here; the message tells its user why, in one line. */
final class GatewayException extends RuntimeException {
    GatewayException(String message) {
        super(message);
    }

    GatewayException(String message, Throwable cause) {
        super(message, cause);
    }
}
