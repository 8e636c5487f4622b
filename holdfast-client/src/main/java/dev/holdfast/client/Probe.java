package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import java.net.URI;
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
        /** The server refuses the ping too, in the way that servers use for that. */
        GONE,
        /** The server refuses the ping too, or answers it with what is no answer: for the session, or for credentials, or for anything. */
        REFUSED,
        /** Nothing was found out. */
        UNKNOWN
    }

    private final Envelope ping;

    private Probe(Envelope ping) {
        this.ping = ping;
    }

    /** Asks; the stage never fails. */
    static CompletionStage<Finding> ask(Link link, URI uri, Object context) {
        String text =
                "{\"jsonrpc\":\"2.0\",\"id\":\"holdfast-probe-" + NUMBERS.incrementAndGet() + "\",\"method\":\"ping\"}";
        Envelope ping = ((EnvelopeReader.Single) MessageBodies.read(text.getBytes(UTF_8))).message();
        Probe probe = new Probe(ping);
        Future<?> late = link.later(PATIENCE_MILLIS, () -> probe.finding.complete(Finding.UNKNOWN));
        probe.finding.thenAccept(found -> late.cancel(false));
        link.post(uri, ping.bytes(), context).whenComplete((request, failure) -> {
            if (failure != null) {
                probe.finding.complete(Finding.UNKNOWN);
                return;
            }
            HttpExchange exchange = link.answering(request, probe);
            exchange.start().thenAccept(probe::ended);
            probe.finding.thenAccept(found -> exchange.abort("the ping was answered"));
        });
        return probe.finding;
    }

    private void ended(ExchangeEnd end) {
        if (end instanceof ExchangeEnd.Answer answer) {
            answered(answer.body());
            finding.complete(
                    switch (answer.status()) {
                        case 400, 404, 410 -> Finding.GONE;
                        case 408, 429, 502, 503, 504, 520, 521, 522, 523, 524 -> Finding.UNKNOWN;
                        default -> Finding.REFUSED;
                    });
        } else {
            finding.complete(end instanceof ExchangeEnd.StreamEnded ? Finding.REFUSED : Finding.UNKNOWN);
        }
    }

    /** Who answers it knows the session, be it that pings are unknown there. */
    private void answered(byte[] body) {
        if (MessageBodies.answers(ping, body)) {
            finding.complete(MessageBodies.mayDenySession(body) ? Finding.REFUSED : Finding.THERE);
        }
    }

    @Override
    public CompletionStage<Void> event(SseEvent event) {
        answered(event.data());
        return CompletableFuture.completedFuture(null);
    }
}
