package dev.holdfast.servlet.guard;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Optional;

/** What a request says of itself before its body is read. */
public final class RequestHeaders {
    private static final int HTTP = 80;
    private static final int HTTPS = 443;

    private RequestHeaders() {}

    /** The values of a header, joined by commas. */
    public static Optional<String> header(HttpServletRequest request, String name) {
        if (request.getHeader(name) == null) {
            return Optional.empty();
        }
        Enumeration<String> values = request.getHeaders(name);
        if (values == null || !values.hasMoreElements()) {
            return Optional.empty();
        }
        String first = values.nextElement();
        return Optional.of(values.hasMoreElements() ? first + "," + String.join(",", Collections.list(values)) : first);
    }

    /**
     * The host that the client calls, and its port where that is told; empty if the client names none. In HTTP/2 it stands in {@code
     * :authority}, which containers tell as the name and the port of the server only.
     */
    public static String host(HttpServletRequest request) {
        Optional<String> host = header(request, "Host");
        return host.isPresent() || !multiplexed(request) ? host.orElse("").trim() : authority(request);
    }

    /** A port that goes without saying is left out, as clients do: what ends TLS before the server does not tell it so. */
    private static String authority(HttpServletRequest request) {
        String name = request.getServerName();
        if (name == null || name.isEmpty()) {
            return "";
        }
        String host = name.indexOf(':') >= 0 && !name.startsWith("[") ? "[" + name + "]" : name;
        int port = request.getServerPort();
        return port <= 0 || port == (request.getScheme().equals("https") ? HTTPS : HTTP) ? host : host + ":" + port;
    }

    /** Whether the connection carries the requests of many at once, as from HTTP/2 on. */
    public static boolean multiplexed(HttpServletRequest request) {
        return request.getProtocol().startsWith("HTTP/2")
                || request.getProtocol().startsWith("HTTP/3");
    }
}
