package dev.holdfast.upstream;

import dev.holdfast.client.HttpStatusException;
import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.wire.Origin;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.net.URI;
import java.security.cert.CertificateException;
import java.util.Optional;
import java.util.Set;

/** What a client is told of a request that the upstream has not answered. */
final class UpstreamErrors {
    private static final Set<Integer> REDIRECTIONS = Set.of(301, 302, 303, 307, 308);

    private static final Set<Integer> CREDENTIALS = Set.of(401, 403);
    /** By which a server says that there is none at this URL. */
    private static final Set<Integer> NOT_THERE = Set.of(404, 405, 410);

    private UpstreamErrors() {}

    /** Whether the upstream was not reached, does not serve this client, or has failed: no other message need fare better. */
    static boolean isOfUpstream(Outcome outcome, Envelope message) {
        if (outcome instanceof Outcome.Refused refused) {
            int status = refused.status();
            return CREDENTIALS.contains(status)
                    || (!refused.answers(message) && (NOT_THERE.contains(status) || status / 100 != 4));
        }
        return outcome instanceof Outcome.Unknown
                || (outcome instanceof Outcome.NotSent not && !(not.cause() instanceof NotTakenException));
    }

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
            return Optional.of("the upstream answered with " + refused + redirect(refused));
        }
        if (outcome instanceof Outcome.SessionGone) {
            return Optional.of("the upstream has lost the session");
        }
        if (outcome instanceof Outcome.NotSent not && not.cause() instanceof NotTakenException refusal) {
            return Optional.of("the upstream has not got the request: " + refusal.getMessage());
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

    /** Whether the upstream was reached, and has no room now. */
    static boolean isBusy(Outcome outcome) {
        return outcome instanceof Outcome.NotSent unsent
                && unsent.cause() instanceof HttpStatusException answer
                && (answer.status() == 429 || answer.status() == 503);
    }

    /** Why a message that has no response may not have arrived; empty where it has, or where that is told otherwise. */
    static Optional<String> ofPost(Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            return Optional.of("the upstream has refused it with HTTP status " + refused.status() + redirect(refused));
        }
        if (outcome instanceof Outcome.NotSent) {
            return Optional.of("the upstream could not be reached");
        }
        return outcome instanceof Outcome.Unknown unknown && !unknown.sessionGone()
                ? Optional.of("it is not known whether the upstream has got it")
                : Optional.empty();
    }

    /** Where a redirect leads, without what may be secret in a URL; empty if the answer is none. */
    private static String redirect(Outcome.Refused refused) {
        if (!REDIRECTIONS.contains(refused.status())) {
            return "";
        }
        return refused.headers()
                .firstValue("location")
                .flatMap(location -> place(refused.request().uri(), location))
                .map(place -> ": it redirects to " + place
                        + ", and redirects are not followed; configure the URL to which it redirects")
                .orElse(": a redirect, and redirects are not followed");
    }

    /** Scheme, host and port: whatever else is in a URL may be a credential. */
    private static Optional<String> place(URI asked, String location) {
        try {
            URI to = Origin.resolve(asked, location);
            if (to.getHost() == null) {
                return Optional.empty();
            }
            String port = to.getPort() < 0 ? "" : ":" + to.getPort();
            return Optional.of(LogText.shortened(to.getScheme() + "://" + to.getHost() + port));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
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
