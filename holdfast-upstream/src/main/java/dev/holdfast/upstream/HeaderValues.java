package dev.holdfast.upstream;

import jakarta.servlet.http.HttpServletRequest;
import java.net.http.HttpRequest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Headers of a client's request on their way to the upstream. Two are equal that are the same to an upstream; they are never logged. */
final class HeaderValues {
    private final List<Header> headers;

    private record Header(String name, String value) {}

    private HeaderValues(List<Header> headers) {
        this.headers = headers;
    }

    static HeaderValues of(HttpServletRequest request, List<String> names) {
        List<Header> found = new ArrayList<>(names.size());
        for (String name : names) {
            for (String value : Collections.list(request.getHeaders(name))) {
                found.add(new Header(name, value));
            }
        }
        return new HeaderValues(found);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof HeaderValues that && headers.equals(that.headers);
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
