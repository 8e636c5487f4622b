package dev.holdfast.servlet;

import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Finds the sessions of one face.
 *
 * @param id where a request names its session
 * @param missing what a request is told that names none
 * @param mine whether a session is one of this face
 */
record Sessions(
        SessionEngine engine,
        Function<Exchange, Optional<String>> id,
        Rejection missing,
        Rejection absent,
        Predicate<Session> mine) {
    /** The whole id is a credential. */
    private static final int SHOWN_OF_ID = 8;

    private static final CompletionStage<Optional<Rejection>> PASSES =
            CompletableFuture.completedFuture(Optional.empty());

    /**
     * Completes with the reason why no message can be for the session that a request names, if it names one. The request stays on its
     * thread where the backend has to be called on that.
     */
    CompletionStage<Optional<Rejection>> check(Exchange exchange) {
        Optional<String> named = id.apply(exchange);
        if (named.isEmpty()) {
            return PASSES;
        }
        if (engine.executesImmediately()) {
            exchange.stayOnThread();
        }
        return engine.find(named.get(), exchange.principal()).thenApply(finding -> {
            Optional<Session> session = session(finding);
            if (session.isEmpty()) {
                // no backend is called for it, and its body may be slow
                exchange.leaveThread();
                return Optional.of(absent(finding, named.get()));
            }
            exchange.found(session.get(), engine.clock().getAsLong());
            return Optional.empty();
        });
    }

    /** Finds the session and goes on with it; if there is none, the request is answered. */
    Step find(Exchange exchange, Optional<RequestId> message, Function<Session, Step> then) {
        Optional<Session> fresh = exchange.found(engine.clock().getAsLong()).filter(mine);
        if (fresh.isPresent()) {
            return then.apply(fresh.get());
        }
        Optional<String> named = id.apply(exchange);
        if (named.isEmpty()) {
            return exchange.reply(missing.to(message));
        }
        return exchange.when(engine.find(named.get(), exchange.principal()), message, finding -> {
            Optional<Session> session = session(finding);
            return session.isPresent()
                    ? then.apply(session.get())
                    : exchange.reply(absent(finding, named.get()).to(message));
        });
    }

    /** The session that was found, if it is one of this face. */
    Optional<Session> session(Finding finding) {
        return finding instanceof Found found && mine.test(found.session())
                ? Optional.of(found.session())
                : Optional.empty();
    }

    private Rejection absent(Finding finding, String name) {
        return finding instanceof Unavailable unavailable ? Rejection.of(unavailable.reason()) : unknown(name);
    }

    /** What a client is told whose session is not there. */
    Rejection unknown(String name) {
        Rejection rejection = engine.draining() ? Rejection.of(Refusal.DRAINING) : absent;
        String start = name.substring(0, Math.min(name.length(), SHOWN_OF_ID));
        return rejection.because(rejection.refusal().text() + ": session " + Rejection.quote(start));
    }
}
