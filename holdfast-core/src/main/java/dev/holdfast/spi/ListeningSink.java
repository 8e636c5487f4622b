package dev.holdfast.spi;

import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** Takes what a backend sends outside of any call. Safe for use by any thread. */
public interface ListeningSink {
    /**
     * Appends a message to the session's listening stream, whether or not a client listens.
     *
     * @return completes at the commit: wait for it before sending much more. Fails where the store failed; completes at once,
     *     with nothing sent, where the session has ended
     */
    CompletionStage<Void> send(OutboundMessage message);

    /** Whether a client reads the listening stream now. */
    boolean attached();

    /**
     * Whether a client reads the listening stream now, or has read it within the grace period, this process or one before it,
     * so that it is likely to come back. What belongs to no call, or to one that cannot be told, is best sent here then.
     */
    boolean followed();

    /**
     * Sets what to do when nobody waits any more for the connection that is being opened; runs at once if that is so already.
     * The stage of {@link Backend#open} completes all the same, soon: what is opened then is closed by whoever asked for it.
     */
    void onAbandon(Runnable hook);

    /**
     * Sets who takes the client's answers while the connection is being opened; {@link BackendConnection#answer} takes them when
     * it is open. A backend that never asks before it has answered {@code initialize} needs none.
     */
    default void onAnswer(Consumer<InboundMessage> taker) {}

    /**
     * Takes back a request to the client that this connection has sent: it is not asked again, and a late answer is dropped. The
     * client is not told: for that there is {@code notifications/cancelled}.
     */
    default void withdrawn(RequestId question) {}

    /**
     * Counts a message that is not sent, since no running call has asked for it: progress of a call that is over, or under a token that
     * the client never gave. Some clients end a connection on which one arrives.
     */
    default void unsolicited() {}

    /** The session id that the client holds; empty while the session is being opened. */
    String sessionId();

    /**
     * Reports that the backend is gone. Its running calls end with an error that names the cause, and the next request opens a
     * fresh connection. Late or repeated reports change nothing, but for requests that they give back.
     *
     * @param cause a short phrase for the client and the log
     */
    void lost(String cause);

    /**
     * Reports that the backend is gone, and has done nothing of some requests. Those do not end with an error: they go to the fresh
     * connection, which is opened for them; a request that was given back three times already ends with the error. While
     * {@link BackendConnection#call} has not returned for a request, a later report may still give that one back; after it has
     * returned, one that was not given back ends with the error. Progress of theirs that was sent is not told again by the fresh
     * connection: what does not go beyond it is dropped.
     *
     * @param cause a short phrase for the client and the log
     * @param untouched requests of calls that run, each with the very {@link InboundMessage#id} object that the connection got: other
     *     calls may have an equal one
     */
    default void lost(String cause, List<InboundMessage> untouched) {
        lost(cause);
    }
}
