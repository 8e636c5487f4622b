package dev.holdfast.servlet.http;

import dev.holdfast.servlet.guard.RequestHeaders;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Optional;

/** The headers of a servlet request. */
record ServletRequestHeaders(HttpServletRequest request) implements RequestHeaders {
    @Override
    public String method() {
        return request.getMethod();
    }

    @Override
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

    @Override
    public long contentLength() {
        return request.getContentLengthLong();
    }

    @Override
    public String localAddress() {
        return request.getLocalAddr();
    }
}
