package dev.holdfast.gateway.connect;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import java.util.List;
import java.util.Optional;

/** What a client is told of requests that the server has not answered. */
final class Answers {
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
        Optional<byte[]> said =
                outcome instanceof Outcome.Refused refused && (refused.answers(message) || !wantsCredentials(refused))
                        ? message.id().flatMap(refused::error).map(Envelope::onOneLine)
                        : Optional.empty();
        return Optional.of(
                said.orElseGet(() -> JsonRpc.errorBody(message.id(), JsonRpc.SERVER_ERROR, reason(outcome))));
    }

    private static boolean wantsCredentials(Outcome.Refused refused) {
        return refused.status() == UNAUTHORIZED || refused.status() == FORBIDDEN;
    }

    private static String refusal(Outcome.Refused refused) {
        if (wantsCredentials(refused)) {
            return "the server wants other credentials (status " + refused.status() + challenge(refused)
                    + "): see --header and --header-file";
        }
        String elsewhere = refused.headers()
                .firstValue("location")
                .map(url -> ", and names " + url)
                .orElse("");
        return "the server refused the request with status " + refused.status() + elsewhere;
    }

    /** What the server says of the credentials that it wants: the scope that is missing, or where to ask for a token. */
    private static String challenge(Outcome.Refused refused) {
        List<String> challenges = refused.headers().allValues("www-authenticate");
        return challenges.isEmpty()
                ? ""
                : ", " + LogText.of(String.join(", ", challenges).getBytes(UTF_8));
    }

    private static String reason(Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            return refusal(refused);
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
