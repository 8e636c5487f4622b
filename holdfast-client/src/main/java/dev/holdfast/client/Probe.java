package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Finds out by a ping whether a server has a session. */
final class Probe implements StreamHandler {
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private static final long PATIENCE_MILLIS = 10_000;

    private final CompletableFuture<Finding> finding = new CompletableFuture<>();

    /** What was found out. */
    enum Finding {
        /** The server has the session. */
        THERE,
        /** The server refuses the ping too. */
        GONE,
        /** Nothing was found out. */
        UNKNOWN
    }

    private Probe() {}

    /** Asks; the stage never fails. */
    static CompletionStage<Finding> ask(Link link, URI uri, Object context) {
        String ping =
                "{\"jsonrpc\":\"2.0\",\"id\":\"holdfast-probe-" + NUMBERS.incrementAndGet() + "\",\"method\":\"ping\"}";
        Probe probe = new Probe();
        link.post(uri, ping.getBytes(UTF_8), context).whenComplete((request, failure) -> {
            if (failure != null) {
                probe.finding.complete(Finding.UNKNOWN);
                return;
            }
            HttpExchange exchange = link.answering(request, probe);
            exchange.start().thenAccept(probe::ended);
            Future<?> late = link.later(PATIENCE_MILLIS, () -> probe.finding.complete(Finding.UNKNOWN));
            probe.finding.thenAccept(found -> {
                late.cancel(false);
                exchange.abort("the ping was answered");
            });
        });
        return probe.finding;
    }

    private void ended(ExchangeEnd end) {
        if (end instanceof ExchangeEnd.Answer answer) {
            boolean refused = answer.status() == 404 || answer.status() == 400;
            finding.complete(refused ? Finding.GONE : answer.good() ? Finding.THERE : Finding.UNKNOWN);
        } else {
            finding.complete(Finding.UNKNOWN);
        }
    }

    @Override
    public void opened(HttpHeaders headers) {
        finding.complete(Finding.THERE);
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
