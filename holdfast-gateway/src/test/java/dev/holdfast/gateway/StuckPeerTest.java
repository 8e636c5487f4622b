package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A peer that stops reading and never closes, and comes back: what it left unread fits into the kernel, or does not. */
@Tag("jdk")
@Timeout(60)
class StuckPeerTest {
    private static final int SMALL = 4096;
    private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private static Socket listening(HttpPeer peer, int port) throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(SMALL);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        socket.setSoTimeout((int) Wait.PATIENCE.toMillis());
        socket.getOutputStream()
                .write(("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: "
                                + peer.session() + "\r\n\r\n")
                        .getBytes(US_ASCII));
        byte[] head = socket.getInputStream().readNBytes("HTTP/1.1 200 OK".length());
        assertThat(new String(head, US_ASCII)).isEqualTo("HTTP/1.1 200 OK");
        return socket;
    }

    @ParameterizedTest
    @ValueSource(strings = {"flood6", "flood200"})
    void theSocketOfAPeerThatDoesNotReadIsGoneSoonAfterItsStreamWasTakenOver(String flood) throws IOException {
        try (TestGateway gateway = new TestGateway()) {
            int port = gateway.url().getPort();
            HttpPeer peer = HttpPeer.connected(gateway.url());
            try (Socket stuck = listening(peer, port)) {
                peer.call(1, flood);
                untilStuck(port, stuck.getLocalPort());
                long start = System.nanoTime();

                Socket next = listening(peer, port);

                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
                Wait.until("the old socket is gone", () -> Sockets.heldBack(port, stuck.getLocalPort()) < 0);
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
                assertThatThrownBy(() -> readToTheEnd(stuck.getInputStream())).isInstanceOf(SocketException.class);
                next.close();
            }
        }
    }

    /** Waits until the kernel takes no more for a peer. */
    private static void untilStuck(int server, int client) {
        AtomicLong last = new AtomicLong();
        AtomicLong since = new AtomicLong(System.nanoTime());
        Wait.until("the socket is full", () -> {
            long now = Sockets.heldBack(server, client);
            if (now != last.getAndSet(now)) {
                since.set(System.nanoTime());
            }
            return now > 0 && System.nanoTime() - since.get() > QUIET_NANOS;
        });
    }

    private static void readToTheEnd(InputStream in) throws IOException {
        in.transferTo(OutputStream.nullOutputStream());
    }
}
