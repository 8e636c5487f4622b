package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Finds out why a server has answered without the stream that it was asked for. For one thread at a time. */
final class StreamJudge {
    private final Link link;
    private final URI uri;
    private final Object context;
    private final Credentials credentials;

    StreamJudge(Link link, URI uri, Object context) {
        this.link = link;
        this.uri = uri;
        this.context = context;
        this.credentials = new Credentials(link, context);
    }

    /** The server has given the stream. */
    void opened() {
        credentials.accepted();
    }

    /**
     * Judges an answer; where it leaves a question open, the application or the server is asked. The stage never fails.
     *
     * @param resuming whether a place was named
     */
    CompletionStage<StreamVerdict> judge(ExchangeEnd.Answer answer, HttpRequest request, boolean resuming) {
        return switch (answer.status()) {
            case 401, 403 ->
                credentials
                        .asked(answer, request)
                        .handle((again, failure) ->
                                failure == null && again ? new StreamVerdict.OpenAgain() : refused(answer, request));
            case 400, 404 -> suspected(answer, request, resuming);
            case 204 -> CompletableFuture.completedFuture(noPlace(answer, request, resuming));
            case 408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524 ->
                CompletableFuture.completedFuture(later(answer, RetryAfter.millis(answer.headers(), Instant.now())));
            default -> CompletableFuture.completedFuture(refused(answer, request));
        };
    }

    /** The session may be gone, or this stream be none: some servers do not know GET. */
    private CompletionStage<StreamVerdict> suspected(ExchangeEnd.Answer answer, HttpRequest request, boolean resuming) {
        if (link.id().isEmpty() || !link.worked()) {
            return CompletableFuture.completedFuture(noPlace(answer, request, resuming));
        }
        return link.doubt().settle(uri, context, System.nanoTime()).thenApply(found -> switch (found) {
            case GONE -> new StreamVerdict.Lost(new StreamLoss.SessionGone());
            case THERE, REFUSED -> noPlace(answer, request, resuming);
            case UNKNOWN -> later(answer, 0);
        });
    }

    private static StreamVerdict noPlace(ExchangeEnd.Answer answer, HttpRequest request, boolean resuming) {
        String reason =
                answer.status() == 204 ? "the server has nothing more of it" : "the server does not know it any more";
        return resuming
                ? new StreamVerdict.NoPlace(new StreamLoss.NoCursor(reason, failure(answer)))
                : refused(answer, request);
    }

    private static StreamVerdict refused(ExchangeEnd.Answer answer, HttpRequest request) {
        return new StreamVerdict.Lost(new StreamLoss.Refused(answer, request));
    }

    private static StreamVerdict later(ExchangeEnd.Answer answer, long millis) {
        return new StreamVerdict.Later(failure(answer), millis);
    }

    private static HttpStatusException failure(ExchangeEnd.Answer answer) {
        return new HttpStatusException(answer.status(), answer.body());
    }
}
