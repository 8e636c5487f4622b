package dev.holdfast.spi;

/** A store's word that something it keeps of a session can never be read again; what fails otherwise may pass. */
public final class UnreadableSessionException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Says what could not be read, and why. */
    public UnreadableSessionException(String message, Throwable cause) {
        super(message, cause);
    }
}
