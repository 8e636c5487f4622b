package dev.holdfast.spi;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Takes what a backend sends for one request. Safe for use by any thread. It outlives connections: a client that is away gets
 * everything when it is back.
 */
public interface CallSink {
    /**
     * Appends a message to the call's stream. The response, or the error, is the last one; what comes later, or after the call
     * was cancelled, is dropped.
     *
     * @return completes at the commit: wait for it before sending much more. Fails where the store failed; never because a
     *     connection broke
     */
    CompletionStage<Void> send(OutboundMessage message);

    /**
     * Sets what to do when the call is cancelled; it runs on the thread that cancels, without a lock, or at once on this one if the call
     * already was. The later of two hooks counts.
     *
     * @param hook gets the client's {@code notifications/cancelled}, where that was the cause
     */
    void onCancel(CancelHook hook);

    /**
     * Asks the client to come back for the rest: ends the connection that carries this call in order, after a {@code retry}
     * of the given time. The call goes on. Nothing happens without a connection, in a session that ends with its connection, and before
     * the client knows a position to come back with.
     *
     * @param retry when the client shall be back, 0 to 1 hour; not checked here
     */
    void disconnect(Duration retry);

    /**
     * Tells by which request a backend goes on with this call that is opened after a death of this process: it gets that in the place of
     * the call's own, which may not be run again. Where the store outlives the process, the call does too then, and waits for such a
     * backend as long as it may take; that gets the request also where the call was cancelled meanwhile, and hears so from
     * {@link #onCancel} at once. The latest one counts. Nothing happens where the call is one of a batch, ends first, or the store never
     * takes so large a request.
     *
     * @param request does no harm, however often it is sent; its id is that of the call
     */
    default void continueBy(InboundMessage request) {}

    /** The session id that the client holds. */
    String sessionId();

    /** What a backend does when its call is cancelled. */
    @FunctionalInterface
    interface CancelHook {
        /** Stops the work; the call's stream has ended already. */
        void cancelled(Optional<InboundMessage> notification);
    }
}
