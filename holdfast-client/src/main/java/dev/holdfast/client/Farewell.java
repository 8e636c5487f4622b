package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

/** Tells a server that a session is not needed any more: once, and without waiting long. */
final class Farewell implements StreamHandler {
    private static final long PATIENCE_MILLIS = 5_000;

    private Farewell() {}

    /** Sends DELETE; the stage completes when it was answered, or could not be, or after 5 s. */
    static CompletionStage<Void> to(Link link, URI uri, Object context) {
        CompletableFuture<Void> told = new CompletableFuture<>();
        Future<?> late = link.later(PATIENCE_MILLIS, () -> told.complete(null));
        link.delete(uri, context)
                .thenCompose(request -> told.isDone() ? told : send(link, request, told))
                .whenComplete((end, failure) -> told.complete(null));
        return told.whenComplete((end, failure) -> late.cancel(false));
    }

    private static CompletionStage<Void> send(Link link, HttpRequest request, CompletableFuture<Void> told) {
        HttpExchange exchange = link.answering(request, new Farewell());
        CompletableFuture<ExchangeEnd> end = exchange.start();
        told.thenRun(() -> {
            if (!end.isDone()) {
                exchange.abort("the server takes too long to end the session");
            }
        });
        return end.thenAccept(how -> {});
    }

    @Override
    public CompletionStage<Void> event(SseEvent event) {
        return CompletableFuture.completedFuture(null);
    }
}
