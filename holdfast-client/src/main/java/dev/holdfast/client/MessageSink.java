package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Takes messages of a server, each once and in the order of its stream. Called by one thread at a time per stream. */
@FunctionalInterface
public interface MessageSink {
    /**
     * Takes a message. No more is read from its connection until the stage has completed. A stage that fails breaks the connection;
     * where the stream can be resumed, the message comes again.
     */
    CompletionStage<Void> message(Envelope message);

    /** The same sink, whose stage fails where this one throws. */
    default MessageSink guarded() {
        return message -> {
            try {
                return message(message);
            } catch (RuntimeException | Error e) {
                return CompletableFuture.failedFuture(e);
            }
        };
    }
}
