package dev.holdfast.upstream;

import dev.holdfast.client.Outcome;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.security.cert.CertificateException;
import java.util.Optional;

/** What a client is told of a request that the upstream has not answered. */
final class UpstreamErrors {
    private UpstreamErrors() {}

    /** The error for a request; empty where it has its response, or nobody waits for one. */
    static Optional<OutboundMessage> of(Outcome outcome, InboundMessage request) {
        if (outcome instanceof Outcome.Refused refused) {
            return Optional.of(refusal(refused, request));
        }
        return text(outcome).map(text -> JsonRpc.MESSAGES.error(request.requiredId(), JsonRpc.SERVER_ERROR, text));
    }

    /** The same as a phrase. */
    static Optional<String> text(Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            return Optional.of("the upstream answered with HTTP status " + refused.status());
        }
        if (outcome instanceof Outcome.SessionGone) {
            return Optional.of("the upstream has lost the session");
        }
        if (outcome instanceof Outcome.NotSent) {
            return Optional.of("the upstream could not be reached, and has not got the request");
        }
        if (outcome instanceof Outcome.Unknown unknown) {
            return Optional.of("it is not known whether the upstream has executed the request: " + unknown.reason());
        }
        return outcome instanceof Outcome.Unreadable unreadable
                ? Optional.of("the upstream has executed the request, but " + unreadable.reason())
                : Optional.empty();
    }

    /** Why a message that has no response may not have arrived; empty where it has, or where that is told otherwise. */
    static Optional<String> ofPost(Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            return Optional.of("the upstream has refused it with HTTP status " + refused.status());
        }
        if (outcome instanceof Outcome.NotSent) {
            return Optional.of("the upstream could not be reached");
        }
        return outcome instanceof Outcome.Unknown unknown && !unknown.sessionGone()
                ? Optional.of("it is not known whether the upstream has got it")
                : Optional.empty();
    }

    /** What is said of a trouble that waiting does not cure: the upstream is none that the JVM trusts. Empty for every other. */
    static Optional<String> distrust(Throwable trouble) {
        for (Throwable cause = trouble; cause != null; cause = cause.getCause()) {
            if (cause instanceof CertificateException) {
                return Optional.of("the certificate of the upstream is not trusted");
            }
        }
        return Optional.empty();
    }

    /** The upstream's own error, where it has sent one. */
    private static OutboundMessage refusal(Outcome.Refused refused, InboundMessage request) {
        return refused.error(request.requiredId())
                .map(Envelope::outbound)
                .orElseGet(() -> JsonRpc.MESSAGES.error(
                        request.requiredId(),
                        JsonRpc.SERVER_ERROR,
                        text(refused).orElseThrow()));
    }
}
