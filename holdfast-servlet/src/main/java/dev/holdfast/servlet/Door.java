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
    private static final String CHALLENGE = "WWW-Authenticate";

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
        }
        if (answer instanceof Authenticator.Stranger) {
            return Optional.of(Rejection.of(Refusal.UNAUTHENTICATED).with(CHALLENGE, "Bearer"));
        }
        if (answer instanceof Authenticator.WrongToken) {
            return Optional.of(Rejection.of(Refusal.UNAUTHENTICATED).with(CHALLENGE, "Bearer error=\"invalid_token\""));
        }
        return Optional.empty();
    }
}
