package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.UnaryOperator;

/**
 * How HTTP requests to a server look. They are sent under the name {@code Holdfast} unless the application gives them another: the JDK's
 * own would be that of a client which fails on the {@code retry:} of a stream, so that servers might not send one.
 *
 * @param template each request starts as a copy of this
 * @param customizer adds to each
 * @param authorization is asked when the server wants credentials
 * @param revision stands in {@code MCP-Protocol-Version} until a revision is negotiated
 */
public record Requests(
        HttpRequest.Builder template,
        Customizer customizer,
        AuthorizationHandler authorization,
        Optional<String> revision) {
    /** Requests with what the protocol wants and nothing else. */
    public static final Requests PLAIN =
            new Requests(HttpRequest.newBuilder(), Customizer.NONE, AuthorizationHandler.NONE, Optional.empty());

    /** Adds to each HTTP request before it is sent, for example credentials. Must not block. */
    @FunctionalInterface
    public interface Customizer {
        /** Adds nothing. */
        Customizer NONE = (request, method, uri, body, context) -> CompletableFuture.completedFuture(request);

        /**
         * Returns the request as it is to be sent.
         *
         * @param body the message, for a POST
         * @param context what came with the message for which this request is made
         */
        CompletionStage<HttpRequest.Builder> customize(
                HttpRequest.Builder request, String method, URI uri, Optional<byte[]> body, Object context);
    }

    /** Decides what to do when a server wants credentials: status 401 or 403. Must not block. */
    @FunctionalInterface
    public interface AuthorizationHandler {
        /** Gives up. */
        AuthorizationHandler NONE =
                (request, status, headers, times, context) -> CompletableFuture.completedFuture(false);

        /**
         * Whether the request is to be sent again, through the {@link Customizer}.
         *
         * @param status 401 or 403
         * @param times how often this message was sent again for this reason
         * @param context what came with the message
         */
        CompletionStage<Boolean> sendAgain(
                HttpRequest request, int status, HttpHeaders headers, int times, Object context);
    }

    private static final String USER_AGENT = "User-Agent";
    private static final String NAME = Optional.ofNullable(
                    Requests.class.getPackage().getImplementationVersion())
            .map(version -> "Holdfast/" + version)
            .orElse("Holdfast");

    public Requests {
        template = template.copy();
    }

    /** The same with another customizer. */
    public Requests withCustomizer(Customizer other) {
        return new Requests(template, other, authorization, revision);
    }

    /**
     * Makes a request.
     *
     * @param head adds what the protocol wants
     */
    public CompletionStage<HttpRequest> make(
            String method, URI uri, Optional<byte[]> body, Object context, UnaryOperator<HttpRequest.Builder> head) {
        try {
            HttpRequest.Builder begun = template.copy().header(USER_AGENT, NAME).uri(uri);
            return customizer
                    .customize(head.apply(begun), method, uri, body, context)
                    .thenApply(request -> underOneName(request.build()));
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static HttpRequest underOneName(HttpRequest request) {
        return request.headers().allValues(USER_AGENT).size() <= 1
                ? request
                : HttpRequest.newBuilder(
                                request, (field, value) -> !(field.equalsIgnoreCase(USER_AGENT) && value.equals(NAME)))
                        .build();
    }

    /**
     * Asks the application for credentials; says whether the request is to be sent again.
     *
     * @param times how often that was done for the same message or stream
     */
    CompletionStage<Boolean> authorized(HttpRequest request, ExchangeEnd.Answer answer, int times, Object context) {
        try {
            return authorization.sendAgain(request, answer.status(), answer.headers(), times, context);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
