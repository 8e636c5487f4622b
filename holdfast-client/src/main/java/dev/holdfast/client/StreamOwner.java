package dev.holdfast.client;

import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.spi.RequestId;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Whose stream a {@link StreamLoop} holds: what comes on it, and what becomes of it. */
interface StreamOwner extends StreamSink {
    /** Takes an event that is no message. */
    default CompletionStage<Void> other(SseEvent event) {
        return CompletableFuture.completedFuture(null);
    }

    /** Whether everything has come that this stream is for. */
    boolean complete();

    /** Whether the stream is there for the answer to one request, and ends with it. */
    default boolean ofOneRequest() {
        return false;
    }

    /**
     * An answer to this request has come that cannot be read. Returns whether the stream was there for it: nothing better will
     * come.
     */
    default boolean unreadable(RequestId request, Throwable why) {
        return false;
    }

    /** Whether the stream is worth opening again without a cursor. */
    boolean opensAnew();

    /** Its connection was half-open; others may be too. */
    default void silent() {}

    /** The stream came back without its cursor: what was sent meanwhile may be missing. */
    default void gap() {}

    /** The stream will not come back. */
    void lost(StreamLoss loss);
}
