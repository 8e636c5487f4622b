package dev.holdfast.servlet.guard;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Optional;

/** What a request says of itself before its body is read. */
public record RequestHeaders(HttpServletRequest request) {
    private static final int HTTP = 80;
    private static final int HTTPS = 443;

    /** The HTTP method. */
    public String method() {
        return request.getMethod();
    }

    /** The values of a header, joined by commas. */
    public Optional<String> header(String name) {
        if (request.getHeader(name) == null) {
            return Optional.empty();
        }
        Enumeration<String> values = request.getHeaders(name);
        if (values == null || !values.hasMoreElements()) {
            return Optional.empty();
        }
        String first = values.nextElement();
        if (!values.hasMoreElements()) {
            return Optional.of(first);
        }
        List<String> rest = Collections.list(values);
        return Optional.of(first + "," + String.join(",", rest));
    }

    /**
     * The host that the client calls, and its port where that is told; empty if the client names none. In HTTP/2 it stands in {@code
     * :authority}, which containers tell as the name and the port of the server only.
     */
    public String host() {
        Optional<String> host = header("Host");
        return host.isPresent() || !multiplexed() ? host.orElse("").trim() : authority();
    }

    /** A port that goes without saying is left out, as clients do: what ends TLS before the server does not tell it so. */
    private String authority() {
        String name = request.getServerName();
        if (name == null || name.isEmpty()) {
            return "";
        }
        String host = name.indexOf(':') >= 0 && !name.startsWith("[") ? "[" + name + "]" : name;
        int port = request.getServerPort();
        return port <= 0 || port == (request.getScheme().equals("https") ? HTTPS : HTTP) ? host : host + ":" + port;
    }

    /** Whether the connection carries the requests of many at once, as from HTTP/2 on. */
    public boolean multiplexed() {
        return request.getProtocol().startsWith("HTTP/2")
                || request.getProtocol().startsWith("HTTP/3");
    }

    /** The size of the body, -1 if it is not announced. */
    public long contentLength() {
        return request.getContentLengthLong();
    }

    /** The address of this host to which the request came. */
    public String localAddress() {
        return request.getLocalAddr();
    }
}
