package dev.holdfast.client;

import dev.holdfast.client.wire.ExchangeEnd;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.RequestId;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Finds out by experiment whether a server still has a session: by a ping in it, and where that is refused too, by an
 * {@code initialize} beside it. There is one experiment at a time, for all whose messages were refused by then. Thread-safe.
 */
final class SessionProbe {
    private static final AtomicInteger NUMBERS = new AtomicInteger();
    private static final long TIMEOUT_MILLIS = 10_000;

    private final ServerSession session;
    private @Nullable CompletableFuture<Finding> last;
    private long endedAt;

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

    SessionProbe(ServerSession session) {
        this.session = session;
    }

    /**
     * Asks; the stage never fails.
     *
     * @param context what came with the message that was refused
     * @param sentAt when that was sent, by {@link System#nanoTime}
     */
    CompletionStage<Finding> settle(URI uri, Object context, long sentAt) {
        CompletableFuture<Finding> begun = new CompletableFuture<>();
        synchronized (this) {
            if (last != null && (!last.isDone() || sentAt - endedAt < 0)) {
                return last;
            }
            last = begun;
        }
        if (session.loss().isPresent()) {
            end(begun, Finding.GONE);
        } else {
            ping(uri, context)
                    .thenCompose(pinged -> pinged == Finding.GONE || pinged == Finding.REFUSED
                            ? session.another(context, pinged)
                            : CompletableFuture.completedFuture(pinged))
                    .thenAccept(found -> end(begun, found));
        }
        return begun;
    }

    private void end(CompletableFuture<Finding> begun, Finding found) {
        synchronized (this) {
            endedAt = System.nanoTime();
        }
        begun.complete(found);
    }

    private CompletionStage<Finding> ping(URI uri, Object context) {
        CompletableFuture<Finding> finding = new CompletableFuture<>();
        RequestId id = JsonRpc.stringId("holdfast-probe-" + NUMBERS.incrementAndGet());
        Envelope ping = MessageBodies.message(JsonRpc.request(id, "ping", ""));
        Future<?> late = session.later(TIMEOUT_MILLIS, () -> finding.complete(Finding.UNKNOWN));
        finding.thenAccept(found -> late.cancel(false));
        session.postRequest(uri, ping, context).whenComplete((request, failure) -> {
            if (failure != null) {
                finding.complete(Finding.UNKNOWN);
                return;
            }
            HttpExchange exchange = session.answering(request, event -> {
                answered(ping, event.data(), Finding.REFUSED, finding);
                return CompletableFuture.completedFuture(null);
            });
            exchange.start().thenAccept(end -> ended(ping, end, finding));
            finding.thenAccept(found -> exchange.abort("the ping was answered"));
        });
        return finding;
    }

    private static void ended(Envelope ping, ExchangeEnd end, CompletableFuture<Finding> finding) {
        if (end instanceof ExchangeEnd.Answer answer) {
            Finding said = switch (answer.status()) {
                case 400, 404, 410 -> Finding.GONE;
                case 408, 429, 502, 503, 504, 520, 521, 522, 523, 524 -> Finding.UNKNOWN;
                default -> Finding.REFUSED;
            };
            answered(ping, answer.body(), said == Finding.GONE ? Finding.GONE : Finding.REFUSED, finding);
            finding.complete(said);
        } else {
            finding.complete(end instanceof ExchangeEnd.StreamEnded ? Finding.REFUSED : Finding.UNKNOWN);
        }
    }

    /**
     * A server that answers knows the session, even if the answer is that it does not know pings.
     *
     * @param denied what an error says that may be about the session
     */
    private static void answered(Envelope ping, byte[] body, Finding denied, CompletableFuture<Finding> finding) {
        if (MessageBodies.answers(ping, body)) {
            finding.complete(MessageBodies.mayDenySession(body) ? denied : Finding.THERE);
        }
    }
}
