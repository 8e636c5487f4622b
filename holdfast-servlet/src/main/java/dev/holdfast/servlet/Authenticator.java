package dev.holdfast.servlet;

import dev.holdfast.servlet.http.Answer;
import jakarta.servlet.http.HttpServletRequest;
import java.security.Principal;
import java.util.Objects;

/**
 * Tells which principal sends a request. It is called once for every request but {@code OPTIONS}, when Host and Origin have been checked and before
 * anything else is looked at; on the container's thread, so it must not wait for long. Where it throws or returns null, the answer is 500.
 *
 * <p>A session is found only by the principal that opened it: a client that changes its token must stay the same principal.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization">MCP authorization</a>
 */
@FunctionalInterface
public interface Authenticator {
    /** The user principal of the servlet container; the empty principal where it has none. */
    Authenticator SERVLET = request -> {
        Principal user = request.getUserPrincipal();
        return new Known(user == null ? "" : user.getName());
    };

    /** Returns the principal of a request, or why it has none; must not read the request's body. */
    Answer authenticate(HttpServletRequest request);

    /** The principal of a request, or why it is refused. */
    sealed interface Answer permits Known, Stranger, WrongToken {}

    /**
     * A principal to be served.
     *
     * @param principal its name, empty for a caller without one; the same in every request that is to find its sessions
     */
    record Known(String principal) implements Answer {
        public Known {
            Objects.requireNonNull(principal, "principal");
        }
    }

    /** A request without a token: answered 401, which asks for one. */
    record Stranger() implements Answer {}

    /** A request with a token that is not valid, or no longer: answered 401, which says so. */
    record WrongToken() implements Answer {}
}
