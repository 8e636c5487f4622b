package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.TestGateway;
import dev.holdfast.gateway.Wait;
import dev.holdfast.json.JsonRpc;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How long a connection is kept between two requests, and that this is no limit for requests. */
@Tag("jdk")
@Timeout(60)
class KeepAliveTest {
    private static final Duration KEPT = Duration.ofSeconds(4);
    private static final int LARGE = 16 << 20;
    private static final String REQUEST = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /** Answers with more than the kernel takes. */
    private static final class Large extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentLength(LARGE);
            response.getOutputStream().write(new byte[LARGE]);
        }
    }

    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();
    private final WebServer web =
            WebServer.listen("127.0.0.1", InetAddress.getLoopbackAddress(), 0, Wait.PATIENCE, KEPT, Optional.empty());

    @BeforeEach
    void start() {
        TestGateway.serve(web, new Large(), engine, () -> "");
    }

    @AfterEach
    void stop() {
        web.stop();
        engine.close();
    }

    private Socket connection() throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), web.port()));
        return socket;
    }

    @Test
    void aConnectionWithoutARequestIsClosedThen() throws IOException {
        long start = System.nanoTime();
        try (Socket socket = connection()) {
            assertThat(socket.getInputStream().read()).isNegative();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(KEPT.minusMillis(200));
        }
    }

    @Test
    void aClientThatReadsSlowlyIsNotCutOffByIt() throws Exception {
        try (Socket socket = connection()) {
            socket.getOutputStream().write(REQUEST.getBytes(US_ASCII));
            assertThat(new CountDownLatch(1).await(3 * KEPT.toMillis(), TimeUnit.MILLISECONDS))
                    .isFalse();

            int body = socket.getInputStream().readNBytes(LARGE).length;

            assertThat(body).isEqualTo(LARGE);
        }
    }
}
