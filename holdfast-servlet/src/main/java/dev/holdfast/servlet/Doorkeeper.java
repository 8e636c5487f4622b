package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import java.util.Optional;

/**
 * Stands before every path and method: lets nobody in by a foreign name, from a foreign page, or unknown. A page that may ask
 * may read the answer, be it an error.
 */
final class Doorkeeper {
    private static final String CHALLENGE = "WWW-Authenticate";

    private final OriginPolicy origins;
    private final Authenticator authenticator;

    Doorkeeper(EdgeOptions options) {
        this.origins = new OriginPolicy(options.allowedHosts(), options.allowedOrigins());
        this.authenticator = options.authenticator();
    }

    /** Why a request goes no further, if it does not; else its exchange knows who asks. */
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
        Authenticator.Answer answer = exchange.identify(authenticator);
        if (answer instanceof Authenticator.Stranger) {
            return Optional.of(Rejection.of(Refusal.UNAUTHENTICATED).with(CHALLENGE, "Bearer"));
        }
        if (answer instanceof Authenticator.WrongToken) {
            return Optional.of(Rejection.of(Refusal.UNAUTHENTICATED).with(CHALLENGE, "Bearer error=\"invalid_token\""));
        }
        return Optional.empty();
    }
}
