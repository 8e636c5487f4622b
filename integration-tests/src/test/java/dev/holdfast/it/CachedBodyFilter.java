package dev.holdfast.it;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;

/** Reads the body of each request, as filters that log requests do, and hands on a stream that takes no listener. */
final class CachedBodyFilter implements Filter {
    private final RuntimeException refusal;

    /** A filter whose streams refuse a listener like this. */
    CachedBodyFilter(RuntimeException refusal) {
        this.refusal = refusal;
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        byte[] body = request.getInputStream().readAllBytes();
        chain.doFilter(new Cached((HttpServletRequest) request, body), response);
    }

    private final class Cached extends HttpServletRequestWrapper {
        private final CachedStream stream;

        private Cached(HttpServletRequest request, byte[] body) {
            super(request);
            this.stream = new CachedStream(new ByteArrayInputStream(body));
        }

        @Override
        public ServletInputStream getInputStream() {
            return stream;
        }
    }

    /** Tells nothing of what there is: {@code available} is that of every stream. */
    private final class CachedStream extends ServletInputStream {
        private final ByteArrayInputStream body;

        private CachedStream(ByteArrayInputStream body) {
            this.body = body;
        }

        @Override
        public int read() {
            return body.read();
        }

        @Override
        public int read(byte[] bytes, int offset, int count) {
            return body.read(bytes, offset, count);
        }

        @Override
        public boolean isFinished() {
            return body.available() == 0;
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setReadListener(ReadListener listener) {
            throw refusal;
        }
    }
}
