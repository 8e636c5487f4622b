package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.concurrent.CompletionStage;

/** Takes messages of a server, each once and in the order of its stream. Called by one thread at a time per stream. */
@FunctionalInterface
public interface MessageSink {
    /**
     * Takes a message. No more is read from its connection until the stage has completed. A stage that fails breaks the connection;
     * where the stream can be resumed, the message comes again.
     */
    CompletionStage<Void> message(Envelope message);
}
