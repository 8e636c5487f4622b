package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Pattern;

/** Reads the messages of bodies, and hands them over in their order. */
final class MessageBodies {
    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();

    /** Codes for an invalid request and a server's own, but for those of a missing resource and of a URL that is to be visited. */
    private static final Pattern DENIAL = Pattern.compile("\"code\"\\s*:\\s*-32(600|0(?!02\\b|42\\b)\\d\\d)\\b");

    private MessageBodies() {}

    static EnvelopeReader.Parsed read(byte[] body) {
        return ENVELOPES.read(body);
    }

    /** A message of our own. */
    static Envelope message(byte[] message) {
        return ENVELOPES.message(message);
    }

    /** The ids of the requests that a body was to answer which cannot be read. */
    static List<RequestId> answered(byte[] body) {
        return ENVELOPES.answered(body);
    }

    /** Whether a body is not mere courtesy, as {@code {"message":"Accepted"}} is, be it with the request's id. */
    static boolean mayAnswer(Envelope request, byte[] body) {
        EnvelopeReader.Parsed parsed = read(body);
        return !(parsed instanceof EnvelopeReader.Malformed malformed)
                || (malformed.id().isEmpty() && isDamagedAnswer(request, parsed, body));
    }

    /** Whether a body is the answer to a request, and cannot be read. */
    static boolean isDamagedAnswer(Envelope request, EnvelopeReader.Parsed parsed, byte[] body) {
        return parsed instanceof EnvelopeReader.Malformed
                && answered(body).stream()
                        .anyMatch(id -> request.id().filter(id::equals).isPresent());
    }

    /** Whether a body is an error for this very request: who wrote it has read the request whole. */
    static boolean isErrorFor(Envelope request, byte[] body) {
        return read(body) instanceof EnvelopeReader.Single single && isErrorFor(request, single.message());
    }

    private static boolean isErrorFor(Envelope request, Envelope message) {
        return message.kind() == Envelope.Kind.ERROR
                && request.kind() == Envelope.Kind.REQUEST
                && message.id().equals(request.id());
    }

    /** Whether a message is an error for this very request that may mean the session: no code says that, and servers take their own. */
    static boolean mayDenySession(Envelope request, Envelope message) {
        return isErrorFor(request, message) && mayDenySession(message.bytes());
    }

    /** Whether a body has an error in it that may mean the session. */
    static boolean mayDenySession(byte[] body) {
        return DENIAL.matcher(new String(body, UTF_8)).find();
    }

    /** Whether a body is the response to a request, or the error for it. */
    static boolean answers(Envelope request, byte[] body) {
        return read(body) instanceof EnvelopeReader.Single single
                && isResponse(single.message())
                && single.message().id().equals(request.id());
    }

    static boolean isResponse(Envelope message) {
        return message.kind() == Envelope.Kind.RESPONSE || message.kind() == Envelope.Kind.ERROR;
    }

    static boolean isProgress(Envelope message) {
        return message.kind() == Envelope.Kind.NOTIFICATION
                && message.progressToken().isPresent();
    }

    /** Hands a message over; the stage fails where the sink throws. */
    static CompletionStage<Void> handOver(Envelope message, MessageSink sink) {
        try {
            return sink.message(message);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Takes the message or messages of a body; tells of one that cannot be read. */
    static CompletionStage<Void> take(EnvelopeReader.Parsed parsed, SessionWatch watch, MessageSink sink) {
        if (parsed instanceof EnvelopeReader.Single single) {
            return sink.message(single.message());
        }
        CompletionStage<Void> taken = CompletableFuture.completedFuture(null);
        if (parsed instanceof EnvelopeReader.Batch batch) {
            for (Envelope message : batch.messages()) {
                taken = taken.thenCompose(before -> sink.message(message));
            }
        } else if (parsed instanceof EnvelopeReader.Malformed malformed) {
            watch.failed(new UnreadableMessageException(malformed.message()));
        }
        return taken;
    }
}
