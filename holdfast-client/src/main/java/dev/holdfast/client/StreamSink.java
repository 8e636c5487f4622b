package dev.holdfast.client;

import dev.holdfast.json.Envelope;

/** Takes the messages of one stream, and says which of those that a server repeats on it belong to another stream. */
@FunctionalInterface
interface StreamSink extends MessageSink {
    /** Whether the message is left to the stream of another request, which can be resumed and brings it, too. */
    default boolean leaves(Envelope message) {
        return false;
    }
}
