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
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a connection weighs between two requests of a session. */
@Timeout(60)
class ConnectionMemoryTest {
    private static final int CONNECTIONS = 500;
    private static final int REQUESTS = 3;
    private static final long MOST_BYTES = 40 << 10;
    private static final long NOISE = 256 << 10;

    private static final class Empty extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            response.setContentLength(0);
        }
    }

    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();
    private final WebServer web = WebServer.listen(
            "127.0.0.1", InetAddress.getLoopbackAddress(), 0, Wait.PATIENCE, Wait.PATIENCE, Optional.empty());

    @BeforeEach
    void start() {
        TestGateway.serve(web, new Empty(), engine, () -> "");
    }

    @AfterEach
    void stop() {
        web.stop();
        engine.close();
    }

    @Test
    void aConnectionRemembersNoHeadersOfItsClient() throws IOException {
        List<Socket> sockets = new ArrayList<>();
        try {
            ask(connection(sockets));
            long before = heap();
            for (int i = 0; i < CONNECTIONS; i++) {
                ask(connection(sockets));
            }
            assertThat((heap() - before) / CONNECTIONS).as("bytes").isLessThan(MOST_BYTES);
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private Socket connection(List<Socket> all) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), web.port());
        socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
        all.add(socket);
        return socket;
    }

    private static void ask(Socket socket) throws IOException {
        String request = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
                + "Accept-Language: *\r\nUser-Agent: node\r\nMcp-Session-Id: " + UUID.randomUUID() + "\r\n\r\n";
        for (int i = 0; i < REQUESTS; i++) {
            socket.getOutputStream().write(request.getBytes(US_ASCII));
            StringBuilder head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0) {
                int next = socket.getInputStream().read();
                assertThat(next).isNotNegative();
                head.append((char) next);
            }
            assertThat(head).startsWith("HTTP/1.1 200 ");
        }
    }

    /** What is left when another collection frees nothing more. */
    private static long heap() {
        long used = Long.MAX_VALUE;
        long before;
        do {
            before = used;
            System.gc();
            used = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        } while (used < before - NOISE);
        return used;
    }
}
