package dev.holdfast.client;

import java.net.URI;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Adds to each HTTP request before it is sent, for example credentials. Must not block. */
@FunctionalInterface
public interface RequestCustomizer {
    /** Adds nothing. */
    RequestCustomizer NONE = (request, method, uri, body, context) -> CompletableFuture.completedFuture(request);

    /**
     * Returns the request as it is to be sent.
     *
     * @param body the message, for a POST
     * @param context what came with the message for which this request is made
     */
    CompletionStage<HttpRequest.Builder> customize(
            HttpRequest.Builder request, String method, URI uri, Optional<byte[]> body, Object context);
}
