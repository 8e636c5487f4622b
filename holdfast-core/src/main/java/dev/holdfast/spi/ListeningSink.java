package dev.holdfast.spi;

import java.util.concurrent.CompletionStage;

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

    /** The session id that the client holds; empty while the session is being opened. */
    String sessionId();

    /**
     * Reports that the backend is gone. Its running calls end with an error that names the cause, and the next request opens a
     * fresh connection. Late or repeated reports change nothing.
     *
     * @param cause a short phrase for the client and the log
     */
    void lost(String cause);
}
