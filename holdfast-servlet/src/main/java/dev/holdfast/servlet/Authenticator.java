package dev.holdfast.servlet;

import dev.holdfast.servlet.http.Answer;
import jakarta.servlet.http.HttpServletRequest;
import java.security.Principal;
import java.util.Objects;

/**
 * Knows who asks. It is called once for every request but {@code OPTIONS}, when Host and Origin have been checked and before
 * anything else is looked at; on the container's thread, so it must not wait for long. What it throws is answered with 500.
 *
 * <p>A session opens only for the principal that opened it: whoever may ask by another token later must be the same principal
 * then.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization">MCP authorization</a>
 */
@FunctionalInterface
public interface Authenticator {
    /** Whom the servlet container knows, and nobody in particular where it knows none. */
    Authenticator SERVLET = request -> {
        Principal user = request.getUserPrincipal();
        return new Known(user == null ? "" : user.getName());
    };

    /** Returns who asks; the request's body must not be touched. */
    Answer authenticate(HttpServletRequest request);

    /** Who asks. */
    sealed interface Answer permits Known, Stranger, WrongToken {}

    /**
     * Somebody to serve.
     *
     * @param principal who it is, empty for nobody in particular; the same for as long as its sessions shall be its own
     */
    record Known(String principal) implements Answer {
        public Known {
            Objects.requireNonNull(principal, "principal");
        }
    }

    /** Somebody who does not say who it is: asked for a token with 401. */
    record Stranger() implements Answer {}

    /** Somebody whose token is none, or none any more: told so with 401. */
    record WrongToken() implements Answer {}
}
