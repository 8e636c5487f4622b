package dev.holdfast.servlet.guard;

import dev.holdfast.Refusal;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The guard against DNS rebinding: a page in a browser must not reach a server by a name that is not the server's. A request to
 * a loopback address must name a loopback host, one to any other address an address; or a host that is allowed. An {@code
 * Origin} must be the server's own, an allowed one, or for a loopback server any loopback origin.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning">MCP transports,
 *     security warning</a>
 */
public final class OriginPolicy {
    private static final String ANY = "*";
    private static final String ANY_PORT = ":*";

    /** {@code name}, {@code name:port} or {@code name:*}. */
    private static final Pattern HOST =
            Pattern.compile("\\*|(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9_-][A-Za-z0-9._-]*)(:(\\d{1,5}|\\*))?");
    /** {@code scheme://name}, {@code scheme://name:port} or {@code scheme://name:*}, and what a page without an origin sends. */
    private static final Pattern ORIGIN = Pattern.compile(
            "\\*|null|[A-Za-z][A-Za-z0-9+.-]*://" + "(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(:(\\d{1,5}|\\*))?");

    private final List<String> allowedHosts;
    private final List<String> allowedOrigins;
    /** The last that was not refused: clients say the same again and again. */
    private volatile @Nullable Caller last;

    /** Who asks whom: all that is judged. */
    private record Caller(String host, Optional<String> origin, String localAddress) {
        boolean toLoopback() {
            return Authority.loopbackAddress(localAddress);
        }
    }

    /** A policy that allows more than its own hosts and origins. */
    public OriginPolicy(List<String> allowedHosts, List<String> allowedOrigins) {
        this.allowedHosts = lowerCase(allowedHosts);
        this.allowedOrigins = lowerCase(allowedOrigins);
    }

    /**
     * Returns hosts as they may be listed, none of which can be one that never matches.
     *
     * @throws IllegalArgumentException names the first that has another form
     */
    public static List<String> hosts(String name, List<String> entries) {
        return require(HOST, "mcp.example, mcp.example:8443", name, entries);
    }

    /**
     * The same for origins.
     *
     * @throws IllegalArgumentException names the first that has another form
     */
    public static List<String> origins(String name, List<String> entries) {
        return require(ORIGIN, "https://app.example, http://dev.example:3000", name, entries);
    }

    private static List<String> require(Pattern form, String examples, String name, List<String> entries) {
        for (String entry : entries) {
            if (!form.matcher(entry.trim()).matches()) {
                throw new IllegalArgumentException(name + " must be as in " + examples + " or *, got " + entry);
            }
        }
        return List.copyOf(entries);
    }

    private static List<String> lowerCase(List<String> entries) {
        return entries.stream()
                .map(entry -> entry.trim().toLowerCase(Locale.ROOT))
                .toList();
    }

    /** Why a request is refused, if it is. */
    public Optional<Rejection> check(HttpServletRequest request) {
        Optional<String> origin = RequestHeaders.header(request, "Origin").map(String::trim);
        Caller caller = new Caller(RequestHeaders.host(request), origin, request.getLocalAddr());
        if (caller.equals(last)) {
            return Optional.empty();
        }
        Optional<Rejection> refusal = refusal(caller);
        if (refusal.isEmpty()) {
            last = caller;
        }
        return refusal;
    }

    private Optional<Rejection> refusal(Caller caller) {
        Optional<Authority> host = Authority.parse(caller.host);
        if (!hostAllowed(host, caller.toLoopback())) {
            return Optional.of(Rejection.of(Refusal.HOST)
                    .because("a request for host " + Rejection.quote(caller.host)
                            + "; if that is a name of this server, allow it by allowedHosts, --allowed-host"
                            + " or holdfast.request.allowed-hosts"));
        }
        Optional<String> origin = caller.origin;
        if (origin.isPresent() && !originAllowed(origin.get(), host, caller.toLoopback())) {
            return Optional.of(Rejection.of(Refusal.ORIGIN)
                    .because("a request of origin " + Rejection.quote(origin.get())
                            + "; if that is to be trusted, allow it by allowedOrigins, --allowed-origin"
                            + " or holdfast.request.allowed-origins"));
        }
        return Optional.empty();
    }

    private boolean hostAllowed(Optional<Authority> host, boolean toLoopback) {
        if (allowedHosts.contains(ANY)) {
            return true;
        }
        return host.filter(h -> reaches(h, toLoopback) || allowedHosts.stream().anyMatch(entry -> covers(entry, h)))
                .isPresent();
    }

    /** Whether a host may stand for the server without being listed: never a name that somebody else may have given it. */
    private static boolean reaches(Authority host, boolean toLoopback) {
        return host.kind() == Authority.Kind.LOOPBACK
                ? toLoopback || !host.host().equals("localhost")
                : !toLoopback && host.kind() == Authority.Kind.ADDRESS;
    }

    /** Whether an entry of the list means a host; one without a port means every port. */
    private static boolean covers(String entry, Authority host) {
        String name = entry.endsWith(ANY_PORT) ? entry.substring(0, entry.length() - ANY_PORT.length()) : entry;
        return Authority.parse(name)
                .filter(listed -> listed.host().equals(host.host()))
                .filter(listed -> listed.port().isEmpty() || listed.port().equals(host.port()))
                .isPresent();
    }

    private boolean originAllowed(String origin, Optional<Authority> host, boolean toLoopback) {
        if (allowedOrigins.contains(ANY) || allowedOrigins.contains(origin.toLowerCase(Locale.ROOT))) {
            return true;
        }
        return Site.parse(origin)
                .filter(site -> allowedOrigins.stream().anyMatch(site::isListedAs)
                        || host.filter(site::isAt).isPresent()
                        || (toLoopback && site.authority.kind() == Authority.Kind.LOOPBACK))
                .isPresent();
    }

    /** The origin of a page that came over HTTP. */
    private record Site(String scheme, Authority authority) {
        private static final int HTTP = 80;
        private static final int HTTPS = 443;

        static Optional<Site> parse(String origin) {
            int end = origin.indexOf("://");
            String scheme = end < 0 ? "" : origin.substring(0, end).toLowerCase(Locale.ROOT);
            if (!scheme.equals("http") && !scheme.equals("https")) {
                return Optional.empty();
            }
            return Authority.parse(origin.substring(end + 3)).map(authority -> new Site(scheme, authority));
        }

        private int port(OptionalInt told) {
            return told.orElse(scheme.equals("https") ? HTTPS : HTTP);
        }

        /** Whether the page is the server's own. What ends TLS before the server does not tell it so: the scheme may be either. */
        boolean isAt(Authority host) {
            return authority.host().equals(host.host()) && port(authority.port()) == port(host.port());
        }

        boolean isListedAs(String entry) {
            boolean anyPort = entry.endsWith(ANY_PORT);
            return parse(anyPort ? entry.substring(0, entry.length() - ANY_PORT.length()) : entry)
                    .filter(listed -> listed.scheme.equals(scheme))
                    .filter(listed -> listed.authority.host().equals(authority.host()))
                    .filter(listed -> anyPort || port(listed.authority.port()) == port(authority.port()))
                    .isPresent();
        }
    }
}
