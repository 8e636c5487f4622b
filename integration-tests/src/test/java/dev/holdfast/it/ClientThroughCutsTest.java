package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.client.ClientLimits;
import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.LoggingMessageNotification;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The client at Holdfast, through a proxy that cuts: every message comes once and in order, and every call is run once. */
@Tag("edge")
@Timeout(60)
class ClientThroughCutsTest {
    private static final int CALLS = 6;
    private static final int STEPS = 35;

    private final List<String> listened = new CopyOnWriteArrayList<>();
    private final CopyOnWriteArrayList<String> executed = new CopyOnWriteArrayList<>();
    private final ScheduledExecutorService clock = Executors.newScheduledThreadPool(2);
    private TestServer server;
    private CuttingProxy proxy;
    private ServerSession session;

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(ContainerKind.JETTY)
                .options(options ->
                        options.heartbeatInterval(Duration.ofSeconds(1)).retryInterval(Duration.ofMillis(100)))
                .tool("steps", (exchange, request) -> {
                    String name = Tools.textOf(request);
                    executed.add(name);
                    return Flux.range(0, STEPS)
                            .delayElements(Duration.ofMillis(100))
                            .concatMap(step -> exchange.loggingNotification(
                                    LoggingMessageNotification.builder(LoggingLevel.INFO, name + " " + step)
                                            .build()))
                            .then(Mono.just(name + " done"));
                })
                .start();
        proxy = CuttingProxy.to(server.port());
        RemoteServer remote = RemoteServer.at(
                URI.create("http://127.0.0.1:" + proxy.port() + "/mcp"),
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build(),
                clock,
                Runnable::run);
        session = open(remote.withLimits(ClientLimits.DEFAULT.withSilence(Duration.ofSeconds(8))));
    }

    @AfterEach
    void stop() throws Exception {
        session.close().toCompletableFuture().get(30, TimeUnit.SECONDS);
        proxy.close();
        server.close();
        clock.shutdownNow();
    }

    private static Envelope envelope(String json) {
        return ((EnvelopeReader.Single) new EnvelopeReader().read(json.getBytes(UTF_8))).message();
    }

    private ServerSession open(RemoteServer remote) throws Exception {
        Envelope initialize = envelope("""
                {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},\
                "clientInfo":{"name":"test","version":"1"}}}""");
        SessionOpener.Result opened = new SessionOpener(remote, keeping(listened), SessionWatch.NONE)
                .open(
                        SessionOpener.Protocol.AUTOMATIC,
                        initialize,
                        ServerSession.NO_CONTEXT,
                        keeping(new ArrayList<>()))
                .toCompletableFuture()
                .get(30, TimeUnit.SECONDS);
        ServerSession session = ((SessionOpener.Opened) opened).session();
        session.post(
                        envelope("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                        ServerSession.NO_CONTEXT)
                .toCompletableFuture()
                .get(30, TimeUnit.SECONDS);
        return session;
    }

    private static MessageSink keeping(List<String> texts) {
        return message -> {
            texts.add(new String(message.bytes(), UTF_8));
            return CompletableFuture.completedFuture(null);
        };
    }

    private CompletableFuture<Outcome> call(int number, List<String> messages) {
        return session.call(
                        envelope("{\"jsonrpc\":\"2.0\",\"id\":" + number
                                + ",\"method\":\"tools/call\",\"params\":{\"name\":\"steps\",\"arguments\":{\"text\":\"call-"
                                + number + "\"}}}"),
                        ServerSession.Repeat.NEVER,
                        ServerSession.NO_CONTEXT,
                        keeping(messages))
                .toCompletableFuture();
    }

    @ParameterizedTest
    @EnumSource(CuttingProxy.Cut.class)
    void nothingIsMissingAndNothingComesTwice(CuttingProxy.Cut cut) throws Exception {
        List<List<String>> messages = new ArrayList<>();
        List<CompletableFuture<Outcome>> calls = new ArrayList<>();
        for (int number = 1; number <= CALLS; number++) {
            List<String> mine = new CopyOnWriteArrayList<>();
            messages.add(mine);
            calls.add(call(number, mine));
        }
        await().until(() -> messages.stream().allMatch(mine -> mine.size() >= 2));

        proxy.cut(cut);
        if (cut != CuttingProxy.Cut.HALF_OPEN) {
            await().until(() -> messages.stream().allMatch(mine -> mine.size() >= 8));
            proxy.cut(cut);
        }
        for (CompletableFuture<Outcome> call : calls) {
            assertThat(call.get(30, TimeUnit.SECONDS)).isEqualTo(new Outcome.Done());
        }

        for (int number = 1; number <= CALLS; number++) {
            String name = "call-" + number;
            List<String> expected = IntStream.range(0, STEPS)
                    .mapToObj(step -> "\"data\":\"" + name + " " + step + "\"")
                    .toList();
            List<String> mine = messages.get(number - 1);
            assertThat(mine).hasSize(STEPS + 1);
            for (int step = 0; step < STEPS; step++) {
                assertThat(mine.get(step)).contains(expected.get(step));
            }
            assertThat(mine.get(STEPS)).contains(name + " done");
        }
        assertThat(executed).hasSize(CALLS).doesNotHaveDuplicates();
        assertThat(proxy.cuts()).isPositive();
    }
}
