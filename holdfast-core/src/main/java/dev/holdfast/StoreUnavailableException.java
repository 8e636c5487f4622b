package dev.holdfast;

import org.jspecify.annotations.Nullable;

/** The session's log cannot take a message now: the store failed, and has not been asked where its log ends yet. */
public final class StoreUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Says why, where that is known. */
    public StoreUnavailableException(@Nullable Throwable cause) {
        super("the session store is not available", cause);
    }
}
