package dev.holdfast.spi;

import java.util.OptionalLong;

/** A store's word that it never takes something because of its size: it has nothing of it, and whoever gives it again gets the same. */
public final class TooLargeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final long limit;

    /**
     * Says what was too large.
     *
     * @param limit how many bytes the store takes at once, empty where that is not known
     */
    public TooLargeException(String message, OptionalLong limit) {
        super(message);
        this.limit = limit.orElse(-1);
    }

    /** How many bytes the store takes at once; empty where that is not known. */
    public OptionalLong limit() {
        return limit < 0 ? OptionalLong.empty() : OptionalLong.of(limit);
    }
}
