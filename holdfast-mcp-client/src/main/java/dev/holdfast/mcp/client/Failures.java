package dev.holdfast.mcp.client;

import dev.holdfast.client.HttpStatusException;
import dev.holdfast.client.Outcome;
import io.modelcontextprotocol.spec.McpTransportException;
import io.modelcontextprotocol.spec.McpTransportSessionNotFoundException;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse.ResponseInfo;
import java.util.Optional;

/** What became of a message, as the SDK's exceptions say it. */
final class Failures {
    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;

    private Failures() {}

    /** The head of an answer. */
    record Head(int statusCode, HttpHeaders headers) implements ResponseInfo {
        @Override
        public HttpClient.Version version() {
            return HttpClient.Version.HTTP_1_1;
        }
    }

    /** The exception for what failed; empty if nothing did. */
    static Optional<RuntimeException> of(Outcome outcome) {
        if (outcome instanceof Outcome.Done || outcome instanceof Outcome.Cancelled) {
            return Optional.empty();
        }
        return Optional.of(failure(outcome));
    }

    private static RuntimeException failure(Outcome outcome) {
        if (outcome instanceof Outcome.Refused refused) {
            return refused(refused);
        }
        if (outcome instanceof Outcome.SessionGone) {
            return new McpTransportSessionNotFoundException("the server does not have the session any more");
        }
        if (outcome instanceof Outcome.NotSent not) {
            Throwable cause = not.cause();
            return cause instanceof RuntimeException own
                    ? own
                    : new McpTransportException("not sent: " + cause.getMessage(), cause);
        }
        if (outcome instanceof Outcome.Unknown lost) {
            return new CallOutcomeUnknownException(
                    "nobody knows whether the server executed the request: " + lost.reason(), lost.cause());
        }
        if (outcome instanceof Outcome.Unreadable unreadable) {
            return new McpTransportException("the answer cannot be read: " + unreadable.reason());
        }
        return SdkDifferences.closed();
    }

    private static RuntimeException refused(Outcome.Refused refused) {
        int status = refused.status();
        if (status == UNAUTHORIZED || status == FORBIDDEN) {
            return SdkDifferences.unauthorized(
                    "the server wants credentials: status " + status,
                    refused.request(),
                    new Head(status, refused.headers()));
        }
        HttpStatusException answer = new HttpStatusException(status, refused.body());
        String aside = refused.headers()
                .firstValue("location")
                .filter(location -> status / 100 == 3)
                .map(location -> ", a redirect to " + location + " that is not followed")
                .orElse("");
        return new McpTransportException("refused by the server: " + answer.getMessage() + aside, answer);
    }
}
