package dev.holdfast.client.wire;

import java.net.http.HttpHeaders;
import java.util.concurrent.CompletionStage;

/** Takes what comes on one connection as a stream of events. Called by one thread at a time. */
public interface StreamHandler {
    /** The head has come, and events will follow. */
    default void opened(HttpHeaders headers) {}

    /** Takes an event. No more is read from the connection until the stage has completed. */
    CompletionStage<Void> event(SseEvent event);

    /** The server has stated a reconnection time, in milliseconds. */
    default void retry(long millis) {}
}
