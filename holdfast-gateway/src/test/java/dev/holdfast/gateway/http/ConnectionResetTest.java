package dev.holdfast.gateway.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.RawHttp2;
import dev.holdfast.gateway.Sockets;
import dev.holdfast.gateway.TestCertificate;
import dev.holdfast.gateway.TestGateway;
import dev.holdfast.gateway.Wait;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.json.JsonRpc;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("jdk")
@Timeout(60)
class ConnectionResetTest {
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    private final FloodServlet flood = new FloodServlet();
    private final SessionEngine engine = SessionEngine.builder(
                    (request, sink) -> new CompletableFuture<>(), JsonRpc.MESSAGES)
            .build();
    private final WebServer web =
            WebServer.listen("127.0.0.1", LOOPBACK, 0, Wait.PATIENCE, Wait.PATIENCE, Optional.empty());

    @BeforeEach
    void start() {
        TestGateway.serve(web, flood, engine, () -> "");
    }

    @AfterEach
    void stop() {
        web.stop();
        engine.close();
    }

    /** A peer that asks and does not read. */
    private Socket peer() throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(LOOPBACK, web.port()));
        socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
        socket.getOutputStream().write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(US_ASCII));
        return socket;
    }

    @Test
    void aStuckSocketIsGoneAtOnceAndTheKernelOffersItsBytesNoMore() throws IOException {
        try (Socket peer = peer()) {
            Runnable reset = Wait.until(flood.stuck);
            assertThat(Sockets.heldBack(web.port(), peer.getLocalPort())).isPositive();
            long start = System.nanoTime();

            reset.run();

            Wait.until("the socket is gone", () -> Sockets.heldBack(web.port(), peer.getLocalPort()) < 0);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
            assertThatThrownBy(() -> peer.getInputStream().transferTo(OutputStream.nullOutputStream()))
                    .isInstanceOf(SocketException.class);
            assertThat(Wait.until(flood.broken)).isInstanceOf(IOException.class);
        }
    }

    @Test
    void aConnectionThatIsGoneAlreadyCanBeReset() throws IOException {
        Socket peer = peer();
        Runnable reset = Wait.until(flood.stuck);
        peer.setSoLinger(true, 0);
        peer.close();
        Wait.until(flood.broken);

        reset.run();

        assertThat(Sockets.heldBack(web.port(), peer.getLocalPort())).isNegative();
    }

    static TlsFiles files(Path folder) {
        return TlsFiles.open(
                new OptionFile("--tls-cert", folder.resolve("tls.crt")),
                new OptionFile("--tls-key", folder.resolve("tls.key")),
                InstantSource.system(),
                System::nanoTime);
    }

    /** Of HTTP/2, others share the connection. */
    @Test
    void aStuckStreamIsGoneAtOnceAndNoOther(@TempDir Path folder) throws Exception {
        TestCertificate made = TestCertificate.make(folder, "-keyalg", "EC").into(folder);
        FloodServlet flooding = new FloodServlet();
        WebServer secured =
                WebServer.listen("127.0.0.1", LOOPBACK, 0, Wait.PATIENCE, Wait.PATIENCE, Optional.of(files(folder)));
        TestGateway.serve(secured, flooding, engine, () -> "");
        try (RawHttp2 peer = new RawHttp2(secured.port(), TestCertificate.trusting(made), 4096)) {
            int stream = peer.get("/mcp");
            Runnable reset = Wait.until(flooding.stuck);

            reset.run();

            while (peer.next(stream).type() != RawHttp2.RESET) {}
            assertThat(Wait.until(flooding.broken)).isInstanceOf(IOException.class);
            assertThat(peer.next(peer.get("/healthz")).type()).isEqualTo(RawHttp2.HEADERS);
        } finally {
            secured.stop();
        }
    }
}
