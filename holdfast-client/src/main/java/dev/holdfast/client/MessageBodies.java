package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Reads the messages of bodies, and hands them over in their order.
 *
 * @param watch is told of a body that cannot be read
 * @param sink takes the messages
 */
record MessageBodies(SessionWatch watch, MessageSink sink) {
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();
    private static final CompletionStage<Void> TAKEN = CompletableFuture.completedFuture(null);

    /** The message of a body that has one. */
    static Optional<Envelope> single(byte[] body) {
        return ENVELOPES.read(body) instanceof EnvelopeReader.Single single
                ? Optional.of(single.message())
                : Optional.empty();
    }

    /** Takes the message or messages of a body. */
    CompletionStage<Void> take(byte[] body) {
        EnvelopeReader.Parsed parsed = ENVELOPES.read(body);
        if (parsed instanceof EnvelopeReader.Single single) {
            return sink.message(single.message());
        }
        if (parsed instanceof EnvelopeReader.Batch batch) {
            return each(batch.messages());
        }
        EnvelopeReader.Malformed malformed = (EnvelopeReader.Malformed) parsed;
        watch.failed(new UnreadableMessageException(malformed.message()));
        return TAKEN;
    }

    private CompletionStage<Void> each(List<Envelope> messages) {
        CompletionStage<Void> taken = TAKEN;
        for (Envelope message : messages) {
            taken = taken.thenCompose(before -> sink.message(message));
        }
        return taken;
    }
}
