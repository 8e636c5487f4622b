package dev.holdfast.client;

import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.net.http.HttpHeaders;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Whose stream an {@link EventStream} is: takes what comes on it, and hears what becomes of it. */
interface StreamOwner extends MessageSink {
    /** The server answers the POST that has begun it with a stream. */
    default void opened(HttpHeaders headers) {}

    /** Whether a message is left to the stream of another request, which can be resumed and brings it, too. */
    default boolean leaves(Envelope message) {
        return false;
    }

    /** Takes an event that is no message. */
    default CompletionStage<Void> other(SseEvent event) {
        return CompletableFuture.completedFuture(null);
    }

    /** Whether everything has come that the stream is for. */
    boolean complete();

    /** Whether the stream is there for the answer to one request, and ends with it. */
    default boolean ofOneRequest() {
        return true;
    }

    /** Whether the stream is worth opening again without a cursor. */
    boolean opensAnew();

    /**
     * An answer to this request has come that cannot be read. Returns whether the stream was there for it: nothing better will
     * come.
     */
    boolean unreadable(RequestId request, Throwable why);

    /** Its connection was half-open; others may be too. */
    default void silent() {}

    /** The stream came back without its cursor: what was sent meanwhile may be missing. */
    default void gap() {}

    /** The stream will not come back. */
    void lost(StreamLoss loss);
}
