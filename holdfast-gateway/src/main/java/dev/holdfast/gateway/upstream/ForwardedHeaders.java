package dev.holdfast.gateway.upstream;

import dev.holdfast.spi.InboundMessage;
import jakarta.servlet.http.HttpServletRequest;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Headers of a client's request on their way to the upstream; they are never logged. */
public final class ForwardedHeaders {
    /** What belongs to one connection, or is set by the gateway itself. */
    private static final Set<String> OWN = Set.of(
            "accept",
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "expect",
            "host",
            "keep-alive",
            "last-event-id",
            "mcp-protocol-version",
            "mcp-session-id",
            "origin",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade");

    private static final String TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";

    private final List<Header> headers;

    private record Header(String name, String value) {}

    private ForwardedHeaders(List<Header> headers) {
        this.headers = headers;
    }

    /** Whether a header of this name can be passed on. */
    public static boolean canBe(String name) {
        return name.matches(TOKEN) && !OWN.contains(name.toLowerCase(Locale.ROOT));
    }

    /** Takes these headers of a request, as the context of its messages. */
    public static Function<HttpServletRequest, Object> named(List<String> names) {
        return names.isEmpty() ? request -> InboundMessage.NO_CONTEXT : request -> of(request, names);
    }

    private static ForwardedHeaders of(HttpServletRequest request, List<String> names) {
        List<Header> found = new ArrayList<>(names.size());
        for (String name : names) {
            for (String value : Collections.list(request.getHeaders(name))) {
                found.add(new Header(name, value));
            }
        }
        return new ForwardedHeaders(found);
    }

    /** Two are equal that are the same to an upstream. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ForwardedHeaders that && headers.equals(that.headers);
    }

    @Override
    public int hashCode() {
        return headers.hashCode();
    }

    /** Puts them into a request to the upstream. */
    HttpRequest.Builder addTo(HttpRequest.Builder request) {
        headers.forEach(header -> request.header(header.name, header.value));
        return request;
    }
}
