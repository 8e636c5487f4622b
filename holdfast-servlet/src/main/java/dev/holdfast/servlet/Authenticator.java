package dev.holdfast.servlet;

import jakarta.servlet.http.HttpServletRequest;
import java.security.Principal;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * Tells which principal sends a request. It is called once for every request but {@code OPTIONS}, when Host and Origin have been checked
 * and before anything else is looked at; on the container's thread, so it must not wait for long. Where it throws or returns null, the
 * answer is 500.
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
    sealed interface Answer permits Known, Stranger, WrongToken, InsufficientScope, Undecided {}

    /**
     * A principal to be served.
     *
     * @param principal its name, empty for a caller without one; the same in every request that is to find its sessions
     * @param validity how long it may listen, from now on: then a listening stream ends in order, and its client comes back, with another
     *     token if it has one. Calls that have begun go on. Empty, the default, for as long as it likes. A stream over HTTP+SSE, with which
     *     its session would end, stays open
     */
    record Known(String principal, Optional<Duration> validity) implements Answer {
        public Known {
            Objects.requireNonNull(principal, "principal");
            Objects.requireNonNull(validity, "validity");
        }

        /** May listen for as long as it likes. */
        public Known(String principal) {
            this(principal, Optional.empty());
        }
    }

    /**
     * A request without a token: answered 401, which asks for one.
     *
     * @param challenge where to get it, {@link Challenge#NONE} unless given
     */
    record Stranger(Challenge challenge) implements Answer {
        public Stranger {
            Objects.requireNonNull(challenge, "challenge");
        }

        /** Does not say where. */
        public Stranger() {
            this(Challenge.NONE);
        }
    }

    /**
     * A request with a token that is not valid, or no longer: answered 401, which says so by {@code error="invalid_token"}.
     *
     * @param challenge where to get another, {@link Challenge#NONE} unless given
     */
    record WrongToken(Challenge challenge) implements Answer {
        public WrongToken {
            Objects.requireNonNull(challenge, "challenge");
        }

        /** Does not say where. */
        public WrongToken() {
            this(Challenge.NONE);
        }
    }

    /**
     * A request with a token that is valid, but not for this server: answered 403, which says so by {@code error="insufficient_scope"}. A
     * client comes back with one that has the scopes; it finds its session if it is the same principal then.
     *
     * @param challenge where to get it and for which scopes, one at least
     * @param description what is missing, in words for the client's developer: up to 512 characters of printable ASCII without {@code "}
     *     and {@code \}. Empty for none, the default
     * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#scope-challenge-handling">MCP
     *     authorization, scope challenges</a>
     */
    record InsufficientScope(Challenge challenge, String description) implements Answer {
        /**
         * Checks the values.
         *
         * @throws IllegalArgumentException if the challenge has no scopes, or the description is not as described
         */
        public InsufficientScope {
            if (challenge.scopes().isEmpty()) {
                throw new IllegalArgumentException("the challenge of InsufficientScope must have a scope, got none");
            }
            Challenge.requireDescription(description);
        }

        /**
         * Says it without words.
         *
         * @throws IllegalArgumentException if the challenge has no scopes
         */
        public InsufficientScope(Challenge challenge) {
            this(challenge, "");
        }
    }

    /** Nobody can say now whose request it is, such as while the keys of tokens are fetched: answered 503, to come back soon. */
    record Undecided() implements Answer {}
}
