package dev.holdfast.redis;

import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisLoadingException;
import java.net.ConnectException;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Redis could not do it, or did not say whether it did. The message names the address, and neither user nor password. */
public final class RedisStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean belongsToAnother;

    RedisStoreException(String shown, String what) {
        this(shown, what, false);
    }

    private RedisStoreException(String shown, String what, boolean belongsToAnother) {
        super(shown + " " + what);
        this.belongsToAnother = belongsToAnother;
    }

    static RedisStoreException ofAnother(String shown, String prefix, String owner, String comer) {
        String difference = owner.equals(comer) ? " with other arguments" : ", and this is " + comer;
        return new RedisStoreException(shown, "keeps under " + prefix + " the sessions of " + owner + difference, true);
    }

    /** Whether the prefix is another service's, from which {@link RedisStoreBuilder#takeOver} would take it. */
    public boolean belongsToAnother() {
        return belongsToAnother;
    }

    /** Whether nobody took a connection at its address: nothing is there, or has yet to start. */
    public boolean isUnreachable() {
        return isFrom(ConnectException.class::isInstance);
    }

    /** Whether it is there and cannot be used yet: it has not answered in time, or loads its data. */
    public boolean isStarting() {
        return !isUnreachable()
                && isFrom(cause -> cause instanceof RedisCommandTimeoutException
                        || cause instanceof TimeoutException
                        || cause instanceof RedisLoadingException);
    }

    private boolean isFrom(Predicate<Throwable> kind) {
        for (Throwable cause = getCause(); cause != null; cause = cause.getCause()) {
            if (kind.test(cause)) {
                return true;
            }
        }
        return false;
    }

    RedisStoreException(String shown, @Nullable Throwable cause) {
        super(shown + " cannot be used: " + reason(cause), cause);
        this.belongsToAnother = false;
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
