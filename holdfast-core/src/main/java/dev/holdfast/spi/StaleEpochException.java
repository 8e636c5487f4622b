package dev.holdfast.spi;

/** A store's refusal of an append under an epoch that has been fenced: somebody else owns the session now. */
public final class StaleEpochException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Names both epochs. */
    public StaleEpochException(Epoch offered, Epoch current) {
        super("epoch " + offered + " is fenced, the session is owned under " + current);
    }
}
