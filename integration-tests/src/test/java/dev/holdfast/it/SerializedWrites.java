package dev.holdfast.it;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.PrintWriter;

/**
 * Lets one thread at a time write to a response. The SDK's server of HTTP+SSE does not: a thread flushes a message, and asks once more
 * whether that has failed, which flushes again, while another thread already writes what answers the message. Tomcat's responses are
 * not made for that, and the stream is damaged now and then.
 */
final class SerializedWrites implements Filter {
    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        chain.doFilter(request, new Serialized((HttpServletResponse) response));
    }

    private static final class Serialized extends HttpServletResponseWrapper {
        private Serialized(HttpServletResponse response) {
            super(response);
        }

        @Override
        public PrintWriter getWriter() throws IOException {
            return new PrintWriter(super.getWriter()) {
                @Override
                public boolean checkError() {
                    synchronized (lock) {
                        return super.checkError();
                    }
                }
            };
        }
    }
}
