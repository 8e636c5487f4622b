package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionEngine;
import dev.holdfast.SessionEngine.Finding;
import dev.holdfast.SessionEngine.Found;
import dev.holdfast.spi.RequestId;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Finds the session of one request, of those whose calls have streams of their own. */
final class SessionLookup {
    /** The whole id is a credential. */
    private static final int SHOWN_OF_ID = 8;

    /** A session that was found so long ago may have left memory: it is looked for again. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final CompletionStage<Optional<Rejection>> USEFUL =
            CompletableFuture.completedFuture(Optional.empty());

    private final Exchange exchange;
    private final SessionEngine engine;
    private Optional<Session> session = Optional.empty();
    private long foundAt;

    SessionLookup(Exchange exchange, SessionEngine engine) {
        this.exchange = exchange;
        this.engine = engine;
    }

    private Optional<String> sessionId() {
        return exchange.headers().header("Mcp-Session-Id").map(String::trim).filter(id -> !id.isEmpty());
    }

    /** Why no message of the request can be for the session that it names, if it names one. */
    CompletionStage<Optional<Rejection>> check() {
        Optional<String> id = sessionId();
        if (id.isEmpty()) {
            return USEFUL;
        }
        return engine.find(id.get(), exchange.principal()).thenApply(finding -> {
            session = session(finding);
            foundAt = engine.clock().getAsLong();
            return session.isPresent() ? Optional.empty() : Optional.of(absent(finding, id.get()));
        });
    }

    private static Optional<Session> session(Finding finding) {
        return finding instanceof Found found && !found.session().listensOnly()
                ? Optional.of(found.session())
                : Optional.empty();
    }

    /** Finds the session, and goes on with it; if there is none, the request is answered. */
    void find(Optional<RequestId> message, Consumer<Session> then) {
        Optional<String> id = sessionId();
        if (id.isEmpty()) {
            exchange.reply(
                    Rejection.malformed("the Mcp-Session-Id header is missing").to(message));
        } else if (session.isPresent() && engine.clock().getAsLong() - foundAt < FRESH_NANOS) {
            then.accept(session.get());
        } else {
            exchange.when(
                    engine.find(id.get(), exchange.principal()),
                    message,
                    finding -> session(finding)
                            .ifPresentOrElse(
                                    then,
                                    () -> exchange.reply(
                                            absent(finding, id.get()).to(message))));
        }
    }

    /** Ends the session, which need not come back from the store for that; the request is answered. */
    void terminate() {
        Optional<String> id = sessionId();
        if (id.isEmpty()) {
            exchange.reply(Rejection.malformed("the Mcp-Session-Id header is missing"));
            return;
        }
        exchange.when(engine.terminate(id.get(), exchange.principal()), Optional.empty(), was -> {
            if (was) {
                exchange.status(HttpServletResponse.SC_OK);
            } else {
                exchange.reply(unknown(id.get()));
            }
        });
    }

    /** What there is to say of a session that was not found. */
    Rejection absent(Finding finding, String id) {
        return finding instanceof SessionEngine.Unavailable unavailable
                ? Rejection.of(unavailable.reason())
                : unknown(id);
    }

    /** What there is to say of a session that is not there. */
    Rejection unknown(String id) {
        Refusal refusal = engine.draining() ? Refusal.DRAINING : Refusal.UNKNOWN_SESSION;
        String start = id.substring(0, Math.min(id.length(), SHOWN_OF_ID));
        return Rejection.of(refusal).because(refusal.text() + ": session " + Rejection.quote(start));
    }
}
