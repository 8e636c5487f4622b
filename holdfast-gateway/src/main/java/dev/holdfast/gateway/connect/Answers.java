package dev.holdfast.gateway.connect;

import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import java.util.Optional;

/** What a client is told of requests that the server has not answered. */
final class Answers {
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();
    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;

    private Answers() {}

    /** The error for a request that has no response; empty where there is nothing to be told. */
    static Optional<byte[]> to(Envelope message, Outcome outcome) {
        boolean answered = message.kind() != Envelope.Kind.REQUEST
                || outcome instanceof Outcome.Done
                || outcome instanceof Outcome.Cancelled;
        if (answered) {
            return Optional.empty();
        }
        if (outcome instanceof Outcome.Refused refused
                && ENVELOPES.read(refused.body()) instanceof EnvelopeReader.Single single
                && single.message().kind() == Envelope.Kind.ERROR
                && single.message().id().equals(message.id())) {
            return Optional.of(single.message().onOneLine());
        }
        return Optional.of(JsonRpc.errorBody(message.id(), JsonRpc.SERVER_ERROR, reason(outcome)));
    }

    private static String reason(Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            boolean credentials = refused.status() == UNAUTHORIZED || refused.status() == FORBIDDEN;
            return credentials
                    ? "the server wants other credentials (status " + refused.status()
                            + "): see --header and --header-file"
                    : "the server refused the request with status " + refused.status();
        }
        if (outcome instanceof Outcome.NotSent not && not.cause() instanceof NotTakenException refusal) {
            return String.valueOf(refusal.getMessage());
        }
        if (outcome instanceof Outcome.NotSent not) {
            return "the server cannot be reached: " + not.cause();
        }
        if (outcome instanceof Outcome.Unknown lost) {
            return "the answer is lost, and nobody knows whether the server executed the request: " + lost.reason();
        }
        if (outcome instanceof Outcome.Unreadable unreadable) {
            return "the server's answer cannot be read: " + unreadable.reason();
        }
        return outcome instanceof Outcome.SessionGone
                ? "the server has lost the session, and opens no other"
                : "the connection is closed";
    }
}
