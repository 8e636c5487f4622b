package dev.holdfast.redis;

import org.jspecify.annotations.Nullable;

/** Redis could not do it, or did not say whether it did. The message names the address, and neither user nor password. */
public final class RedisStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RedisStoreException(String shown, String what) {
        super(shown + " " + what);
    }

    RedisStoreException(String shown, @Nullable Throwable cause) {
        super(shown + " cannot be used: " + reason(cause), cause);
    }

    /** The innermost cause says most. */
    private static String reason(@Nullable Throwable cause) {
        if (cause == null) {
            return "there is no connection";
        }
        Throwable innermost = cause;
        while (innermost.getCause() != null) {
            innermost = innermost.getCause();
        }
        return innermost.getMessage() == null ? innermost.getClass().getSimpleName() : innermost.getMessage();
    }
}
