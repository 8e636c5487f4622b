package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.OriginPolicy;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.guard.RequestHeaders;
import dev.holdfast.servlet.http.Exchange;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The first check of every request, on every path and with every method: its host, its origin and its principal. A page of an
 * allowed origin may read every answer, errors too: without the headers of CORS a browser hides an answer from it, and does not send a
 * request that needs permission.
 *
 * @see <a href="https://fetch.spec.whatwg.org/#http-cors-protocol">Fetch, CORS protocol</a>
 */
final class AccessCheck {
    private static final String HEADERS = "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, "
            + "Last-Event-ID, Mcp-Method, Mcp-Name";
    private static final String EXPOSED = "Mcp-Session-Id, WWW-Authenticate, Retry-After";
    /** Names of headers, as a browser lists them. */
    private static final Pattern NAMES = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1024}");
    /** Two hours: no browser keeps a permission for much longer. */
    private static final String MAX_AGE = "7200";

    private final OriginPolicy origins;
    private final Authenticator authenticator;

    AccessCheck(EdgeOptions options) {
        this.origins = new OriginPolicy(options.allowedHosts(), options.allowedOrigins());
        this.authenticator = options.authenticator();
    }

    /** Answers a request that is turned away, and returns whether it is let in; then its exchange knows the principal. */
    boolean admits(Exchange exchange) {
        HttpServletResponse response = exchange.response();
        RequestHeaders headers = exchange.headers();
        // whatever the answer is, it depends on the page that asks
        response.addHeader("Vary", "Origin");
        Optional<Rejection> refusal = origins.check(headers);
        if (refusal.isEmpty()) {
            headers.header("Origin").ifPresent(page -> {
                response.setHeader("Access-Control-Allow-Origin", page.trim());
                // beside what a filter of the application lets a page see
                response.addHeader("Access-Control-Expose-Headers", EXPOSED);
            });
            refusal = headers.method().equals("OPTIONS") ? Optional.empty() : authenticate(exchange);
        }
        refusal.ifPresent(exchange::turnAway);
        return refusal.isEmpty();
    }

    private Optional<Rejection> authenticate(Exchange exchange) {
        Authenticator.Answer answer = Objects.requireNonNull(
                authenticator.authenticate(exchange.request()), "the authenticator has returned null");
        if (answer instanceof Authenticator.Known known) {
            exchange.principal(known.principal());
            return Optional.empty();
        } else if (answer instanceof Authenticator.Stranger stranger) {
            return challenged(Refusal.UNAUTHENTICATED, stranger.challenge().header("", ""));
        } else if (answer instanceof Authenticator.WrongToken wrong) {
            return challenged(Refusal.UNAUTHENTICATED, wrong.challenge().header("invalid_token", ""));
        }
        Authenticator.InsufficientScope narrow = (Authenticator.InsufficientScope) answer;
        return challenged(
                Refusal.INSUFFICIENT_SCOPE, narrow.challenge().header("insufficient_scope", narrow.description()));
    }

    private static Optional<Rejection> challenged(Refusal refusal, String challenge) {
        return Optional.of(Rejection.of(refusal).with("WWW-Authenticate", challenge));
    }

    /** Whether a browser asks what a page may send here. */
    static boolean isPreflight(Exchange exchange) {
        return exchange.headers().method().equals("OPTIONS")
                && exchange.headers().header("Origin").isPresent();
    }

    /** Answers a preflight: an allowed page may send requests that need permission. */
    static void permit(Exchange exchange, String methods) {
        HttpServletResponse response = exchange.response();
        RequestHeaders headers = exchange.headers();
        response.setHeader("Access-Control-Allow-Methods", methods);
        // whatever the page asks for, beside what every client sends: its origin is allowed
        String asked = headers.header("Access-Control-Request-Headers")
                .filter(names -> NAMES.matcher(names).matches())
                .map(names -> ", " + names)
                .orElse("");
        response.setHeader("Access-Control-Allow-Headers", HEADERS + asked);
        response.setHeader("Access-Control-Max-Age", MAX_AGE);
        if (headers.header("Access-Control-Request-Private-Network").isPresent()) {
            response.setHeader("Access-Control-Allow-Private-Network", "true");
        }
        exchange.status(HttpServletResponse.SC_NO_CONTENT);
    }
}
