package dev.holdfast.session;

/** This node writes to a session no more, for its lease is lost. Whether another one has taken the session over is not known. */
public final class LeaseLostException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LeaseLostException() {
        super("the lease was lost");
    }
}
