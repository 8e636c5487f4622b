package dev.holdfast.servlet;

import java.time.Duration;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * Every knob of HTTP+SSE, the transport of revision 2024-11-05. Immutable: each {@code with} method returns a changed copy.
 *
 * @param path the end of the path of the GET: letters, digits and {@code ._~-} between single slashes; neither it nor {@code messagePath}
 *     may end with the other. Default {@code /sse}
 * @param messagePath the end of the path that clients POST to, of the same form. Default {@code /message}
 * @param reconnectGrace how long a session waits for its client when its connection broke, zero and up; zero ends it with its
 *     connection. Else it is the idle timeout as well, events carry ids, and a client that returns with one finds its session and all it
 *     missed. Such an id names the session: it is a credential like the session's id. Default zero
 * @param base what the {@code endpoint} event puts before {@code messagePath}: a path, which has the context path in it, or an
 *     absolute URL, without a slash at its end. Empty: the {@code X-Forwarded-Prefix} of a reverse proxy, where there is one, and
 *     what stood before {@code path} in the GET. Default empty
 * @see <a href="https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse">MCP transports, HTTP
 *     with SSE</a>
 */
public record HttpSseOptions(String path, String messagePath, Duration reconnectGrace, String base) {
    // possessive: a group that may give back what it took is matched by one recursion for each time it stands there
    private static final Pattern PATH = Pattern.compile("(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~-]++)++");
    private static final int MAX_PREFIX = 1_024;

    /** The defaults named above. */
    public static final HttpSseOptions DEFAULT = new HttpSseOptions("/sse", "/message", Duration.ZERO, "");

    public HttpSseOptions {
        requirePath("path", path);
        requirePath("messagePath", messagePath);
        Objects.requireNonNull(base, "base");
        if (alike(path, messagePath)) {
            throw new IllegalArgumentException(
                    "neither of path and messagePath may end with the other, got " + path + " and " + messagePath);
        }
        if (reconnectGrace.isNegative()) {
            throw new IllegalArgumentException("reconnectGrace must not be negative, got " + reconnectGrace);
        }
        if (base.endsWith("/") || base.chars().anyMatch(c -> c <= ' ' || c > '~')) {
            throw new IllegalArgumentException(
                    "base must be a path or URL of printable ASCII, without blanks and without a slash at its end, got "
                            + base);
        }
    }

    private static void requirePath(String name, String value) {
        if (!PATH.matcher(value).matches()) {
            throw new IllegalArgumentException(name
                    + " must be of letters, digits and ._~- between single '/', without a part that is . or .., got "
                    + value);
        }
    }

    /** Whether requests for an endpoint on this path could be taken for those of HTTP+SSE. */
    public boolean conflictsWith(String endpoint) {
        return alike(endpoint, path) || alike(endpoint, messagePath);
    }

    private static boolean alike(String one, String other) {
        return one.endsWith(other) || other.endsWith(one);
    }

    /** Whether this can stand before a path; a client has to send it back with each POST. */
    static boolean prefix(String text) {
        return text.length() <= MAX_PREFIX && PATH.matcher(text).matches();
    }

    /** The same with other paths. */
    public HttpSseOptions withPaths(String listening, String message) {
        return new HttpSseOptions(listening, message, reconnectGrace, base);
    }

    /** The same with another {@link #reconnectGrace}. */
    public HttpSseOptions withReconnectGrace(Duration value) {
        return new HttpSseOptions(path, messagePath, value, base);
    }

    /** The same with another {@link #base}. */
    public HttpSseOptions withBase(String value) {
        return new HttpSseOptions(path, messagePath, reconnectGrace, value);
    }
}
