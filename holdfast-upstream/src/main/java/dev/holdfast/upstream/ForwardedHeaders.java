package dev.holdfast.upstream;

import dev.holdfast.spi.InboundMessage;
import jakarta.servlet.http.HttpServletRequest;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Which headers of clients' requests reach an upstream, such as {@code Authorization}. Give the same object to
 * {@link UpstreamBackendBuilder#forward} and to {@code EdgeOptions.Builder#context}: it takes the headers from a request as the context of
 * its messages. Each message takes along those of its own request; what is sent without one takes those of the session's latest request.
 * They are never logged. Immutable.
 */
public final class ForwardedHeaders implements Function<HttpServletRequest, Object> {
    /** No header. */
    public static final ForwardedHeaders NONE = new ForwardedHeaders(List.of());

    /** What belongs to one connection, or is set by the backend itself. */
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

    private final List<String> names;

    private ForwardedHeaders(List<String> names) {
        this.names = names;
    }

    /** Those of these names, in upper or lower case. */
    public static ForwardedHeaders named(String... names) {
        return named(Arrays.asList(names));
    }

    /**
     * Those of these names, in upper or lower case.
     *
     * @throws IllegalArgumentException names one that belongs to a connection, such as {@code Host}, or to the protocol
     */
    public static ForwardedHeaders named(Collection<String> names) {
        for (String name : names) {
            if (!name.matches(TOKEN) || OWN.contains(name.toLowerCase(Locale.ROOT))) {
                throw new IllegalArgumentException(
                        "forwarded must be a header that is the client's own, such as Authorization, got "
                                + (name.isEmpty() ? "empty" : name));
            }
        }
        Set<String> distinct = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        distinct.addAll(names);
        return distinct.isEmpty() ? NONE : new ForwardedHeaders(List.copyOf(distinct));
    }

    /** Each name once, in alphabetical order. */
    public List<String> names() {
        return names;
    }

    /** The context of the messages of a request. */
    @Override
    public Object apply(HttpServletRequest request) {
        return names.isEmpty() ? InboundMessage.NO_CONTEXT : Values.of(request, names);
    }

    /** Headers of a client's request on their way to the upstream. Two are equal that are the same to it; they are never logged. */
    static final class Values {
        private final List<Header> headers;

        private record Header(String name, String value) {}

        private Values(List<Header> headers) {
            this.headers = headers;
        }

        static Values of(HttpServletRequest request, List<String> names) {
            List<Header> found = new ArrayList<>(names.size());
            for (String name : names) {
                for (String value : Collections.list(request.getHeaders(name))) {
                    found.add(new Header(name, value));
                }
            }
            return new Values(found);
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Values that && headers.equals(that.headers);
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
}
