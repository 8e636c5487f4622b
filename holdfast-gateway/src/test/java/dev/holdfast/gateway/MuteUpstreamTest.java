package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A gateway in front of servers that do not say a word. */
@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
class MuteUpstreamTest {
    private static TestGateway before(URI url) {
        return TestGateway.before(url);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"})
    void anUpstreamThatIsMuteIsGivenUpAndItsConnectionsAreClosed(String head) throws IOException {
        try (ServerSocket mute = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                TestGateway gateway = before(URI.create("http://127.0.0.1:" + mute.getLocalPort() + "/mcp"))) {
            var refused = new HttpPeer(gateway.url()).posted(TestJson.INITIALIZE);
            try (Socket connection = mute.accept()) {
                connection.setSoTimeout((int) Wait.PATIENCE.toMillis());
                connection.getOutputStream().write(head.getBytes(UTF_8));
                assertThat(Wait.until(refused).body())
                        .anyMatch(line -> line.contains("the upstream did not answer initialize within 10000 ms"));
                assertThat(connection.getInputStream().readAllBytes()).isNotEmpty();
            }
            mute.setSoTimeout(2_000);
            assertThat(acceptsOneMore(mute)).isFalse();
        }
    }

    private static boolean acceptsOneMore(ServerSocket server) {
        try (Socket another = server.accept()) {
            return another.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void anUpstreamThatNeverAcceptsThatNotificationGetsTheCallsAllTheSame() {
        CountDownLatch over = new CountDownLatch(1);
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("notifications/initialized", asked -> await(over));
            assertThat(HttpPeer.connected(gateway.url()).call(1, "who")).contains("\"text\":\"done\"");
        } finally {
            over.countDown();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
