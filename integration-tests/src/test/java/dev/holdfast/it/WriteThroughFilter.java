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

/** Hands on a response whose stream writes through, as filters that log responses do, and knows only writes that block. */
final class WriteThroughFilter implements Filter {
    private final Listening listening;

    /** What its streams do with a listener. */
    enum Listening {
        /** They are never ready, and ignore it. */
        NEVER_READY {
            @Override
            boolean ready() {
                return false;
            }

            @Override
            void take() {}
        },
        /** They are always ready, and refuse it. */
        REFUSED {
            @Override
            boolean ready() {
                return true;
            }

            @Override
            void take() {
                throw new UnsupportedOperationException("by the test");
            }
        },
        /** They are always ready, and ignore it. */
        IGNORED {
            @Override
            boolean ready() {
                return true;
            }

            @Override
            void take() {}
        };

        abstract boolean ready();

        abstract void take();
    }

    WriteThroughFilter(Listening listening) {
        this.listening = listening;
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
            return listening.ready();
        }

        @Override
        public void setWriteListener(WriteListener listener) {
            listening.take();
        }
    }
}
