package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import dev.holdfast.rocksdb.RocksDbStore;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** What the log of a server of the SDK says of who called what. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class AccessLogTest {
    private static final String WHO = "client=\"test\" version=\"1\" principal=\"alice\"";
    private static final Map<String, String> ALICE = Map.of(UserFilter.USER, "alice");

    private final ContainerKind kind;
    private final CompletableFuture<String> gate = new CompletableFuture<>();

    @AutoClose
    private final LogCapture log = new LogCapture(Level.DEBUG);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    private RocksDbStore store;
    private TestServer server;

    AccessLogTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        store = RocksDbStore.builder(folder).open();
        server = TestServer.in(kind)
                .options(options -> options.store(store)
                        .sseEndpoint("/sse")
                        .sseReconnectGracePeriod(Duration.ofSeconds(30))
                        .heartbeatInterval(Duration.ofMillis(200)))
                .filter(new UserFilter())
                .tool(Tools.reading(
                        "slow",
                        (exchange, request) ->
                                Tools.progress(exchange, request, 1).then(Mono.fromFuture(gate, true))))
                .server(specification -> specification.toolCall(
                        Tools.definition("complaining"),
                        (exchange, request) -> Mono.just(CallToolResult.builder()
                                .addTextContent("no")
                                .isError(true)
                                .build())))
                .start();
    }

    private void stop() throws Exception {
        server.close();
        store.close();
    }

    @AfterEach
    void end() throws Exception {
        stop();
    }

    private static RawRequest alices(RawRequest request) {
        return request.with(UserFilter.USER, "alice");
    }

    private void call(RawSession session, String json) {
        try (RawConnection connection = session.stream(alices(session.post(json)))) {
            connection.message();
        }
    }

    /** The lines of calls, without what is of the time. */
    private List<String> calls(String session) {
        return log.access(session).stream()
                .filter(line -> line.startsWith("call "))
                .map(line -> line.replaceAll(" took=\\d+ms", ""))
                .toList();
    }

    /** The line of the session's end; that of a call may come behind it, for a client has its answer before. */
    private String end(String session) {
        return log.access(session).stream()
                .filter(line -> line.startsWith("ended "))
                .findFirst()
                .orElseThrow();
    }

    private static String line(String tool, String outcome) {
        return "call method=\"tools/call\" tool=\"" + tool + "\" outcome=" + outcome
                + " resumed=0 rerun=false principal=\"alice\"";
    }

    @Test
    void aSessionAndItsCallsAreTold() {
        RawSession session = RawSession.open(server.port(), ALICE);
        call(session, Json.echo("1", "hello"));
        call(session, Json.call("2", "complaining"));
        call(session, Json.call("3", "none\\nsuch"));
        call(session, Json.request("4", "resources/list", "{}"));
        assertThat(session.status(alices(session.delete()))).isEqualTo(200);

        await().until(() -> log.access(session.id()).size() == 6);
        assertThat(log.access(session.id())).first().isEqualTo("opened " + WHO + " protocol=\"2025-11-25\" over=http");
        assertThat(calls(session.id()))
                .containsExactlyInAnyOrder(
                        line("echo", "answered"),
                        line("complaining", "tool-error"),
                        line("none\\u{a}such", "failed code=\"-32602\""),
                        "call method=\"resources/list\" outcome=failed code=\"-32601\" resumed=0 rerun=false"
                                + " principal=\"alice\"");
        assertThat(end(session.id()))
                .matches("ended reason=terminated code=1001 age=\\d+s unused=\\d+s calls=4 " + WHO
                        + ": terminated by the client");
        assertThat(log.lines()).noneMatch(each -> each.text().contains(session.id()));
    }

    @Test
    void soAreThoseOverHttpSse() {
        try (RawSseSession session = RawSseSession.connect(server.port(), alices(RawSseSession.get()))) {
            assertThat(session.status(alices(session.post(Json.initialize(RawSseSession.REVISION)))))
                    .isEqualTo(202);
            session.receive();
            assertThat(session.status(alices(session.post(Json.echo("1", "hello")))))
                    .isEqualTo(202);
            session.receive();

            await().until(() -> log.access(session.id()).size() == 3);
            assertThat(log.access(session.id())).contains("opened " + WHO + " protocol=\"2024-11-05\" over=http+sse");
            assertThat(calls(session.id())).last().isEqualTo(line("echo", "answered"));
        }
    }

    @Test
    void aCancelledCallIsTold() {
        RawSession session = RawSession.open(server.port(), ALICE);
        try (RawConnection call = session.stream(alices(session.post(Json.callWithProgress("5", "slow"))))) {
            call.message();
            assertThat(session.status(
                            alices(session.post(Json.notification("notifications/cancelled", "{\"requestId\":5}")))))
                    .isEqualTo(202);
            await().untilAsserted(() -> assertThat(calls(session.id())).containsExactly(line("slow", "cancelled")));
        }
    }

    @Test
    void aCallThatIsCutAndResumedIsTold() {
        RawSession session = RawSession.open(server.port(), ALICE);
        RawConnection first = session.stream(alices(session.post(Json.callWithProgress("6", "slow"))));
        String seen = first.message().id().orElseThrow();
        first.reset();
        try (RawConnection again = session.stream(alices(session.get(seen)))) {
            again.frame();
            gate.complete("done");
            again.message();
        }
        await().untilAsserted(() -> assertThat(calls(session.id()))
                .containsExactly(line("slow", "answered").replace("resumed=0", "resumed=1")));
    }

    @Test
    void aSessionThatComesBackAfterARestartIsToldWithWhatItCallsThen() throws Exception {
        RawSession session = RawSession.open(server.port(), ALICE);
        call(session, Json.echo("1", "hello"));
        stop();
        start();
        RawSession again = session.movedTo(server.port());
        call(again, Json.echo("2", "hello"));
        assertThat(again.status(alices(again.delete()))).isEqualTo(200);

        await().until(() -> log.access(session.id()).size() == 5);
        assertThat(log.access(session.id())).contains("returned " + WHO + " protocol=\"2025-11-25\" over=http");
        assertThat(end(session.id())).contains(" calls=1 ");
    }
}
