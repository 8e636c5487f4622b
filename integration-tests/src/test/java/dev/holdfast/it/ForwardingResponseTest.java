package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Filters that put a stream of their own before the response, which hands everything on: those of Spring Security do so with every
 * response.
 */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Tag("edge")
@Timeout(30)
class ForwardingResponseTest {
    private final ContainerKind kind;
    private final AtomicInteger listeners = new AtomicInteger();
    private TestServer server;
    private RawSession session;

    ForwardingResponseTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind).filter(new ForwardingFilter()).start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void close() throws Exception {
        server.close();
    }

    @Test
    void aStreamIsWrittenWithoutBlocking() throws Exception {
        try (RawConnection stream = session.stream(session.get())) {
            await().until(() -> server.holdfast().engine().stats().connections() == 1);
            for (String text : new String[] {"one", "two", "x".repeat(300 << 10)}) {
                server.log(text);
                assertThat(stream.message().json().at("/params/data").asString())
                        .isEqualTo(text);
            }
            await().until(() -> listeners.get() == 1);
        }
    }

    private final class ForwardingFilter implements Filter {
        @Override
        public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            chain.doFilter(request, new HttpServletResponseWrapper((HttpServletResponse) response) {
                @Override
                public ServletOutputStream getOutputStream() throws IOException {
                    return new ForwardingStream(super.getOutputStream());
                }
            });
        }
    }

    private final class ForwardingStream extends ServletOutputStream {
        private final ServletOutputStream out;

        private ForwardingStream(ServletOutputStream out) {
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
            return out.isReady();
        }

        @Override
        public void setWriteListener(WriteListener listener) {
            out.setWriteListener(listener);
            listeners.incrementAndGet();
        }
    }
}
