package dev.holdfast.session;

import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request in the hands of one incarnation of the backend, as that sees it: the way back for the answer, until it has given the request
 * back, and whom to tell that the request was cancelled, which is the hook that was set last, and that once. Safe for use by any
 * thread.
 */
final class HandedSink implements CallSink {
    private static final CancelHook NOBODY = notification -> {};
    private static final CancelHook TOLD = notification -> {};
    private static final Logger logger = LoggerFactory.getLogger(HandedSink.class);

    private final RequestSink sink;
    private final int incarnation;
    private CancelHook hook = NOBODY;

    HandedSink(RequestSink sink, int incarnation) {
        this.sink = sink;
        this.incarnation = incarnation;
    }

    /** The request. */
    RequestSink sink() {
        return sink;
    }

    /** In whose hands it is. */
    int incarnation() {
        return incarnation;
    }

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        return sink.call().host().send(this, message);
    }

    @Override
    public void onCancel(CancelHook next) {
        if (!set(next)) {
            next.cancelled(sink.cancellation());
        }
    }

    /** Sets the hook; false if the request was cancelled already. */
    private synchronized boolean set(CancelHook next) {
        boolean early = hook != TOLD;
        hook = early ? next : TOLD;
        return early;
    }

    /** Tells whoever wants to know. */
    void cancelled(Optional<InboundMessage> notification) {
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

    @Override
    public void disconnect(Duration retry) {
        boolean held = sink.call().host().step(step -> sink.isHeldBy(this));
        if (held) {
            sink.call().host().disconnect(sink.call().stream(), retry);
        }
    }

    @Override
    public String sessionId() {
        return sink.call().host().id();
    }
}
