package dev.holdfast;

import dev.holdfast.spi.OutboundMessage;

/**
 * Follows one request until it is over: {@link #answered}, {@link #cancelled} and {@link #lost} each end it, and exactly one of them is
 * called once, unless the process dies before. Called without a lock on any thread, in order as far as those threads have one; it must
 * not block. What it throws is logged, and the request goes on.
 */
public interface CallWatch {
    /** Follows nothing. */
    CallWatch NONE = new CallWatch() {};

    /** How a connection came to read the stream of a request. */
    enum Attachment {
        /** It carried the request. */
        STARTED,
        /** It reads the listening stream, from the first message on that is not confirmed; only where answers go there. */
        LISTENED,
        /** It came back with an event id, and nothing is missing. */
        RESUMED,
        /** It came back with an event id, and messages after that are not kept any more. */
        GAP
    }

    /** What is current on a thread for a while. */
    @FunctionalInterface
    interface Scope extends AutoCloseable {
        /** Nothing. */
        Scope NONE = () -> {};

        /** Makes current again what was before; on the same thread. */
        @Override
        void close();
    }

    /**
     * The request is handed to its backend on this thread, which may answer it before the scope is closed. Called again where the request
     * goes to another backend, which happens three times at most.
     */
    default Scope enter() {
        return Scope.NONE;
    }

    /** A connection begins to read the stream on which the answer will come. */
    default void attached(Attachment how) {}

    /** The connection that read that stream broke. The request goes on. */
    default void detached() {}

    /** The answer is committed: a result, or an error, which may be the engine's own. */
    default void answered(OutboundMessage answer) {}

    /** The client has cancelled the request; there will be no answer. */
    default void cancelled() {}

    /** The session has ended, and there will be no answer. */
    default void lost() {}
}
