package dev.holdfast.session;

import dev.holdfast.spi.CallSink.CancelHook;
import dev.holdfast.spi.InboundMessage;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whom to tell that a request was cancelled: the hook that was set last, and that once. Safe for use by any thread. */
final class CancelTarget {
    private static final CancelHook NOBODY = notification -> {};
    private static final CancelHook TOLD = notification -> {};
    private static final Logger logger = LoggerFactory.getLogger(CancelTarget.class);

    private CancelHook hook = NOBODY;

    /** Sets the hook; false if the request was cancelled already. */
    synchronized boolean set(CancelHook next) {
        boolean early = hook != TOLD;
        hook = early ? next : TOLD;
        return early;
    }

    /** Tells whoever wants to know. */
    void tell(Optional<InboundMessage> notification) {
        try {
            take().cancelled(notification);
        } catch (Throwable e) {
            logger.error("a call could not be cancelled", e);
        }
    }

    private synchronized CancelHook take() {
        CancelHook last = hook;
        hook = TOLD;
        return last;
    }
}
