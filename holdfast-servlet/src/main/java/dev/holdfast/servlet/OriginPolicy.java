package dev.holdfast.servlet;

import dev.holdfast.Refusal;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The guard against DNS rebinding: a page in a browser must not reach a server by a name that is not the server's. A request to
 * a loopback address must name a loopback host or an allowed one; an {@code Origin} must be the server's own, an allowed one, or
 * for a loopback server any loopback origin.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning">MCP transports,
 *     security warning</a>
 */
record OriginPolicy(List<String> allowedHosts, List<String> allowedOrigins) {
    private static final Pattern LOOPBACK_ADDRESS = Pattern.compile("127\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}");
    private static final Pattern PORT = Pattern.compile("(:\\d{1,5})?");
    private static final String ANY = "*";
    private static final String ANY_PORT = ":*";

    /** Why a request is refused, if it is. */
    Optional<Rejection> check(RequestHeaders request) {
        String host = request.header("Host").orElse("").trim().toLowerCase(Locale.ROOT);
        if (!hostAllowed(host, request.toLoopback())) {
            return Optional.of(Rejection.of(Refusal.HOST)
                    .because("a request for host " + Rejection.quote(host)
                            + "; if that is a name of this server, allow it by allowedHosts or --allowed-host"));
        }
        Optional<String> origin = request.header("Origin").map(o -> o.trim().toLowerCase(Locale.ROOT));
        if (origin.isPresent() && !originAllowed(origin.get(), host, request.toLoopback())) {
            return Optional.of(Rejection.of(Refusal.ORIGIN)
                    .because("a request of origin " + Rejection.quote(origin.get())
                            + "; if that is to be trusted, allow it by allowedOrigins or --allowed-origin"));
        }
        return Optional.empty();
    }

    private boolean hostAllowed(String host, boolean toLoopback) {
        String name = nameOf(host);
        for (String allowed : allowedHosts) {
            String entry = allowed.toLowerCase(Locale.ROOT);
            if (entry.equals(ANY) || entry.equals(host) || entry.equals(name) || entry.equals(name + ANY_PORT)) {
                return true;
            }
        }
        return toLoopback ? loopback(name) : allowedHosts.isEmpty();
    }

    private boolean originAllowed(String origin, String host, boolean toLoopback) {
        for (String allowed : allowedOrigins) {
            String entry = allowed.toLowerCase(Locale.ROOT);
            if (entry.equals(ANY) || entry.equals(origin) || matchesAnyPort(entry, origin)) {
                return true;
            }
        }
        int scheme = origin.indexOf("://");
        if (scheme < 0 || origin.indexOf('@') >= 0) {
            return false;
        }
        String authority = origin.substring(scheme + 3);
        return authority.equals(host) || (toLoopback && loopback(nameOf(authority)));
    }

    private static boolean matchesAnyPort(String entry, String origin) {
        if (!entry.endsWith(ANY_PORT)) {
            return false;
        }
        String base = entry.substring(0, entry.length() - ANY_PORT.length());
        return origin.startsWith(base)
                && PORT.matcher(origin.substring(base.length())).matches();
    }

    /** Whether this is a name or an address of the local host. */
    static boolean loopback(String name) {
        String bare = name.startsWith("[") && name.endsWith("]") ? name.substring(1, name.length() - 1) : name;
        return bare.equals("localhost")
                || bare.equals("::1")
                || bare.equals("0:0:0:0:0:0:0:1")
                || LOOPBACK_ADDRESS.matcher(bare).matches();
    }

    private static String nameOf(String host) {
        if (host.startsWith("[")) {
            int end = host.indexOf(']');
            return end < 0 ? host : host.substring(0, end + 1);
        }
        int colon = host.indexOf(':');
        return colon < 0 ? host : host.substring(0, colon);
    }
}
