package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Cors;
import dev.holdfast.servlet.guard.OriginPolicy;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Exchange;
import java.util.Objects;
import java.util.Optional;

/**
 * The first check of every request, on every path and with every method: its host, its origin and its principal. A page of an
 * allowed origin may read every answer, errors too.
 */
final class Door {
    private final OriginPolicy origins;
    private final Authenticator authenticator;

    Door(EdgeOptions options) {
        this.origins = new OriginPolicy(options.allowedHosts(), options.allowedOrigins());
        this.authenticator = options.authenticator();
    }

    /** Returns why a request is turned away; if it is not, its exchange knows the principal. */
    Optional<Rejection> check(Exchange exchange) {
        // whatever the answer is, it depends on the page that asks
        exchange.response().addHeader("Vary", "Origin");
        Optional<Rejection> foreign = origins.check(exchange.headers());
        if (foreign.isEmpty()) {
            exchange.origin().ifPresent(page -> Cors.letRead(exchange.response(), page));
        }
        if (foreign.isPresent() || exchange.headers().method().equals("OPTIONS")) {
            return foreign;
        }
        Authenticator.Answer answer = Objects.requireNonNull(
                authenticator.authenticate(exchange.request()), "the authenticator has returned null");
        if (answer instanceof Authenticator.Known known) {
            exchange.principal(known.principal());
            return Optional.empty();
        }
        return Optional.of(refused(answer));
    }

    private static Rejection refused(Authenticator.Answer answer) {
        if (answer instanceof Authenticator.Stranger stranger) {
            return challenged(Refusal.UNAUTHENTICATED, stranger.challenge().header("", ""));
        }
        if (answer instanceof Authenticator.WrongToken wrong) {
            return challenged(Refusal.UNAUTHENTICATED, wrong.challenge().header("invalid_token", ""));
        }
        Authenticator.InsufficientScope narrow = (Authenticator.InsufficientScope) answer;
        return challenged(
                Refusal.INSUFFICIENT_SCOPE, narrow.challenge().header("insufficient_scope", narrow.description()));
    }

    private static Rejection challenged(Refusal refusal, String challenge) {
        return Rejection.of(refusal).with("WWW-Authenticate", challenge);
    }
}
