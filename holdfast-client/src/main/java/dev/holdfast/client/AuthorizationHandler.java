package dev.holdfast.client;

import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Decides what to do when a server wants credentials: status 401 or 403. Must not block. */
@FunctionalInterface
public interface AuthorizationHandler {
    /** Gives up. */
    AuthorizationHandler NONE = (request, status, headers, times, context) -> CompletableFuture.completedFuture(false);

    /**
     * Whether the request is to be sent again, through the {@link RequestCustomizer}.
     *
     * @param status 401 or 403
     * @param times how often this message was sent again for this reason
     * @param context what came with the message
     */
    CompletionStage<Boolean> sendAgain(HttpRequest request, int status, HttpHeaders headers, int times, Object context);
}
