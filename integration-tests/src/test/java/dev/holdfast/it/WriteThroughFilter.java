package dev.holdfast.it;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

/** Hands on a response with a stream of its own, which writes through. */
final class WriteThroughFilter implements Filter {
    private final Listening listening;
    private final AtomicInteger listeners = new AtomicInteger();

    /** What its streams do with a listener. */
    enum Listening {
        /** They hand it on, as those of Spring Security do. */
        HANDED_ON {
            @Override
            boolean ready(ServletOutputStream out) {
                return out.isReady();
            }

            @Override
            void take(ServletOutputStream out, WriteListener listener) {
                out.setWriteListener(listener);
            }
        },
        /** They are never ready, and ignore it. */
        NEVER_READY {
            @Override
            boolean ready(ServletOutputStream out) {
                return false;
            }

            @Override
            void take(ServletOutputStream out, WriteListener listener) {}
        },
        /** They are never ready, and fail. */
        NOT_IMPLEMENTED {
            @Override
            boolean ready(ServletOutputStream out) {
                return false;
            }

            @Override
            void take(ServletOutputStream out, WriteListener listener) {
                throw new IllegalStateException("not implemented");
            }
        },
        /** They are always ready, and refuse it. */
        REFUSED {
            @Override
            void take(ServletOutputStream out, WriteListener listener) {
                throw new UnsupportedOperationException("by the test");
            }
        },
        /** They are always ready, and ignore it. */
        IGNORED {
            @Override
            void take(ServletOutputStream out, WriteListener listener) {}
        };

        boolean ready(ServletOutputStream out) {
            return true;
        }

        abstract void take(ServletOutputStream out, WriteListener listener);
    }

    WriteThroughFilter(Listening listening) {
        this.listening = listening;
    }

    /** How many listeners its streams have taken. */
    int listeners() {
        return listeners.get();
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        chain.doFilter(request, new Through((HttpServletResponse) response));
    }

    private final class Through extends HttpServletResponseWrapper {
        private Through(HttpServletResponse response) {
            super(response);
        }

        @Override
        public ServletOutputStream getOutputStream() throws IOException {
            return new ThroughStream(super.getOutputStream());
        }
    }

    private final class ThroughStream extends ServletOutputStream {
        private final ServletOutputStream out;

        private ThroughStream(ServletOutputStream out) {
            this.out = out;
        }

        @Override
        public void write(int one) throws IOException {
            out.write(one);
        }

        @Override
        public void write(byte[] bytes, int offset, int count) throws IOException {
            out.write(bytes, offset, count);
        }

        @Override
        public void flush() throws IOException {
            out.flush();
        }

        @Override
        public boolean isReady() {
            return listening.ready(out);
        }

        @Override
        public void setWriteListener(WriteListener listener) {
            listening.take(out, listener);
            listeners.incrementAndGet();
        }
    }
}
