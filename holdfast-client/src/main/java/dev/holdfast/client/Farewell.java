package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

/** Tells a server that a session is not needed any more: once, and without waiting long. */
final class Farewell implements StreamHandler {
    private static final long PATIENCE_MILLIS = 5_000;

    private Farewell() {}

    /** Sends DELETE; the stage completes when it was answered, or could not be, or after 5 s. */
    static CompletionStage<Void> to(Link link, URI uri, Object context) {
        return link.delete(uri, context).handle((request, failure) -> request).thenCompose(request -> {
            if (request == null) {
                return CompletableFuture.<Void>completedFuture(null);
            }
            HttpExchange exchange = link.answering(request, new Farewell());
            CompletableFuture<ExchangeEnd> end = exchange.start();
            Future<?> late =
                    link.later(PATIENCE_MILLIS, () -> exchange.abort("the server takes too long to end the session"));
            return end.thenAccept(how -> late.cancel(false));
        });
    }

    @Override
    public void opened(HttpHeaders headers) {
        // no server streams an answer to DELETE
    }

    @Override
    public CompletionStage<Void> event(SseEvent event) {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void retry(long millis) {
        // nothing comes back to here
    }
}
