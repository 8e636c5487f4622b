package dev.holdfast.it;

import static dev.holdfast.Refusal.DUPLICATE_ID;
import static dev.holdfast.Refusal.HOST;
import static dev.holdfast.Refusal.MALFORMED;
import static dev.holdfast.Refusal.NOT_SERVED;
import static dev.holdfast.Refusal.ORIGIN;
import static dev.holdfast.Refusal.UNKNOWN_EVENT;
import static dev.holdfast.Refusal.UNKNOWN_SESSION;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.SessionLifecycleListener;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** Whatever is refused is counted once, the listener hears of it, and the log of the first of its kind only. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class RefusalCountTest implements SessionLifecycleListener {
    private static final String FORGED = "0123456789abcdef";

    private final ContainerKind kind;
    private final List<dev.holdfast.Refusal> heard = new CopyOnWriteArrayList<>();

    RefusalCountTest(ContainerKind kind) {
        this.kind = kind;
    }

    @Override
    public void onRefused(dev.holdfast.Refusal reason) {
        heard.add(reason);
    }

    private TestServer.Builder server() {
        return TestServer.in(kind)
                .options(options -> options.sseEndpoint("/sse").sessionLifecycleListener(this));
    }

    @Test
    void everyRefusalIsCountedOnceAndToldToTheListener() throws Exception {
        try (TestServer server =
                server().tool("hang", (exchange, request) -> Mono.never()).start()) {
            RawSession session = RawSession.open(server.port());
            RawRequest echo = session.post(Json.echo("1", "hello"));
            String hang = Json.request("\"same\"", "tools/call", "{\"name\":\"hang\"}");

            session.status(echo.with("Host", "evil.example"));
            session.status(echo.with("Origin", "http://evil.example"));
            session.status(session.get().with("Accept", "text/html"));
            session.status(RawRequest.of("PUT"));
            session.status(session.post("hello"));
            session.status(echo.without("Mcp-Session-Id"));
            session.status(echo.with("Mcp-Session-Id", FORGED));
            session.status(RawRequest.post(Json.echo("1", "hello")).to("/message?sessionId=" + FORGED));
            session.status(session.get("1.99.1.zzzzzz.5"));
            try (RawSseSession listens = RawSseSession.open(server.port())) {
                listens.send(hang);
                assertThat(listens.status(listens.post(hang))).isEqualTo(400);
            }

            Map<dev.holdfast.Refusal, Long> expected = Map.of(
                    HOST,
                    1L,
                    ORIGIN,
                    1L,
                    NOT_SERVED,
                    2L,
                    MALFORMED,
                    2L,
                    UNKNOWN_SESSION,
                    2L,
                    UNKNOWN_EVENT,
                    1L,
                    DUPLICATE_ID,
                    1L);
            Map<dev.holdfast.Refusal, Long> counted =
                    server.holdfast().engine().stats().refused();
            assertThat(counted).containsAllEntriesOf(expected);
            assertThat(counted.values().stream().mapToLong(Long::longValue).sum())
                    .isEqualTo(heard.size())
                    .isEqualTo(10);
            expected.forEach((reason, count) ->
                    assertThat(heard).filteredOn(reason::equals).hasSize(count.intValue()));
        }
    }

    @Test
    void manyRefusalsAreOneLineAndNoLineHoldsAWholeId() throws Exception {
        try (TestServer server = server().start();
                LogCapture log = new LogCapture()) {
            RawSession session = RawSession.open(server.port());
            for (int i = 0; i < 20; i++) {
                session.status(session.post(Json.echo("1", "hello")).with("Mcp-Session-Id", FORGED + i));
                session.status(session.get().with("Mcp-Session-Id", FORGED + i));
                session.status(RawRequest.post("{}").to("/message?sessionId=" + FORGED + i));
                session.status(
                        session.post(Json.echo("\"a\\nb\"", "hello")).with("Mcp-Session-Id", "\u00e9\t\u00e9" + i));
                session.status(session.post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"a\u00e9\":"));
            }

            assertThat(log.lines())
                    .filteredOn(line -> line.text().startsWith("refused"))
                    .hasSize(2)
                    .allSatisfy(
                            line -> assertThat(line.text()).matches("[ -~]+").doesNotContain("012345678"))
                    .anySatisfy(line -> assertThat(line.text()).contains("session \"01234567\""));
            session.assertAlive();
        }
    }
}
