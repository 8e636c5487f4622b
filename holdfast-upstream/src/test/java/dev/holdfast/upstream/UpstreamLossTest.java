package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.spi.Backend.OpenRequest;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which calls are given back to the engine when the upstream has lost the session. */
@Timeout(30)
class UpstreamLossTest {
    private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1);
    private final BlockingQueue<List<InboundMessage>> given = new LinkedBlockingQueue<>();
    private final Socket nobody = new Socket();
    private final UpstreamConnection connection = new UpstreamConnection(
            new OpenRequest(request(0, "initialize"), "", "1", false),
            new RepeatRules(),
            new LossListening(given::add),
            new RequestRoom(new ByteBudget(Long.MAX_VALUE, 1_000, Duration.ZERO)).ofSession(),
            () -> false,
            next -> {},
            clock);

    private ServerSession session = unopened(1);

    private static InboundMessage request(int id, String method) {
        return message("\"id\":" + id + ",\"method\":\"" + method + "\",\"params\":{\"uri\":\"u:" + id + "\"}");
    }

    private static InboundMessage message(String members) {
        return UpstreamBackend.ENVELOPES
                .message(("{\"jsonrpc\":\"2.0\"," + members + "}").getBytes(UTF_8))
                .inbound(InboundMessage.NO_CONTEXT);
    }

    private ServerSession unopened(int port) {
        URI away = URI.create("http://127.0.0.1:" + port + "/mcp");
        RemoteServer server = RemoteServer.at(away, HttpClient.newHttpClient(), clock, Runnable::run);
        return new SessionOpener(server, connection, connection).unopened();
    }

    /** Opens a session at a server that nobody reaches, and lets what comes next wait for an answer from there. */
    @BeforeEach
    void open() throws Exception {
        // bound, but nobody listens: neither another server nor a client gets its port meanwhile
        nobody.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        session = unopened(nobody.getLocalPort());
        connection.opened(session, (byte) 0);
        connection.notify(message("\"method\":\"notifications/initialized\""));
    }

    @AfterEach
    void close() throws Exception {
        connection.close().toCompletableFuture().join();
        nobody.close();
        clock.shutdownNow();
    }

    private Sink call(InboundMessage request) {
        Sink sink = new Sink();
        connection.call(request, sink);
        return sink;
    }

    @Test
    void whatIsCancelledWhileTheOthersEndIsNotGivenBack() throws Exception {
        connection.gone(session);
        assertThat(given.take()).isEmpty();

        Sink cancelled = call(request(1, "tools/call"));
        assertThat(given.take()).hasSize(1);
        cancelled.cancel();
        InboundMessage wanted = request(2, "tools/call");
        call(wanted);

        assertThat(given.take()).containsExactly(wanted);
    }

    @Test
    void whatWasCancelledBeforeTheLossIsNotGivenBack() throws Exception {
        Sink cancelled = call(request(1, "resources/subscribe"));
        InboundMessage wanted = request(2, "resources/subscribe");
        call(wanted);
        cancelled.cancel();
        connection.gone(session);

        assertThat(given.poll(20, TimeUnit.SECONDS)).containsExactly(wanted);
    }

    /** One that was tried before, and never was this connection's. */
    @Test
    void theLossOfAnotherSessionIsNone() {
        connection.gone(unopened(1));

        assertThat(given).isEmpty();
    }

    private static final class Sink implements CallSink {
        private volatile CancelHook hook = notification -> {};

        private void cancel() {
            hook.cancelled(Optional.empty());
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void onCancel(CancelHook taken) {
            hook = taken;
        }

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return "session";
        }
    }
}
