package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ElicitFormRequest;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;

/** A client over HTTP+SSE at a gateway, whose upstream speaks HTTP+SSE too: a call with progress and a question, and cuts on each leg. */
@Timeout(60)
class UpstreamSseCutsTest {
    private static final Duration GRACE = Duration.ofSeconds(30);
    private static final String ANSWER = "{\"action\":\"accept\",\"content\":{\"answer\":\"forty-two\"}}";

    @AutoClose
    private final OpenResources open = new OpenResources();

    private final List<String> executed = new CopyOnWriteArrayList<>();
    /** How many streams the server was asked for. */
    private final AtomicInteger streams = new AtomicInteger();

    private final AtomicInteger losses = new AtomicInteger();

    /** Tells its progress, asks its client, and tells it again. */
    private Mono<String> asking(McpAsyncServerExchange exchange, CallToolRequest request) {
        Map<String, Object> form = Map.of("type", "object", "properties", Map.of("answer", Map.of("type", "string")));
        return Mono.fromRunnable(() -> executed.add("asking"))
                .then(Tools.progress(exchange, request, 1))
                .then(Mono.defer(() -> exchange.createElicitation(
                        ElicitFormRequest.builder("What is it?", form).build())))
                .flatMap(result -> Tools.progress(exchange, request, 2)
                        .thenReturn(String.valueOf(result.content().get("answer"))));
    }

    private OfficialSseServer official() throws Exception {
        return OfficialSseServer.start(Tools.echo(), Tools.tool("asking", this::asking));
    }

    /** One that keeps a session for a while. */
    private int holdfast() throws Exception {
        return open.add(TestServer.in(ContainerKind.JETTY)
                        .options(options -> options.sseEndpoint("/sse").sseReconnectGracePeriod(GRACE))
                        .tool("asking", this::asking)
                        .start())
                .port();
    }

    private UpstreamFront before(int port) {
        EdgeOptions edge = EdgeOptions.builder()
                .httpSse(Optional.of(HttpSseOptions.DEFAULT.withReconnectGrace(GRACE)))
                .build();
        URI url = URI.create("http://127.0.0.1:" + port + "/sse");
        return open.add(new UpstreamFront(ContainerKind.JETTY, url, edge));
    }

    /** Calls the tool, and returns the frame with the question, which comes behind the first progress. */
    private static Frame called(RawSseSession session) {
        session.send(Json.callWithProgress("1", "asking"));
        assertThat(session.receive().at("/params/progress").asInt()).isEqualTo(1);
        Frame question = session.stream().message();
        assertThat(question.json().at("/method").asString()).isEqualTo("elicitation/create");
        return question;
    }

    private static void answer(RawSseSession session, Frame question) {
        session.send(Json.answer(question.json().at("/id").toString(), ANSWER));
    }

    private static void finish(RawSseSession session) {
        JsonNode progress = session.receive();
        assertThat(progress.at("/params/progress").asInt()).as("%s", progress).isEqualTo(2);
        JsonNode response = session.receive();
        assertThat(response.at("/id").asInt()).isEqualTo(1);
        assertThat(response.at("/result/content/0/text").asString()).isEqualTo("forty-two");
        session.assertAlive();
    }

    @Test
    void aCallWithProgressAndAQuestionPassesBothWays() throws Exception {
        try (RawSseSession session =
                RawSseSession.open(before(open.add(official()).port()).port())) {
            answer(session, called(session));
            finish(session);
        }
        assertThat(executed).containsExactly("asking");
    }

    @ParameterizedTest
    @EnumSource
    void aCutOfTheClientsLegLosesNothing(Breakage breakage) throws Exception {
        UpstreamFront front = before(open.add(official()).port());
        RawSseSession session = RawSseSession.open(front.port());
        Frame question = called(session);
        breakage.happenTo(session.stream());
        try (RawSseSession again = RawSseSession.connect(
                front.port(), RawSseSession.get(question.id().orElseThrow()))) {
            assertThat(again.endpoint()).isEqualTo(session.endpoint());
            answer(again, question);
            finish(again);
        }
        assertThat(executed).containsExactly("asking");
    }

    @ParameterizedTest
    @EnumSource(names = {"RST", "FIN"})
    void aCutOfTheUpstreamsLegLosesNothingWhereThatKeepsTheSession(CuttingProxy.Cut cut) throws Exception {
        CuttingProxy leg = open.add(CuttingProxy.to(holdfast()));
        try (RawSseSession session = RawSseSession.open(before(leg.port()).port())) {
            Frame question = called(session);
            leg.cutStreams(cut);
            answer(session, question);
            finish(session);
        }
        assertThat(leg.cuts()).isPositive();
        assertThat(executed).containsExactly("asking");
    }

    @ParameterizedTest
    @EnumSource(names = {"RST", "FIN"})
    void aCutOfTheUpstreamsLegIsADefiniteErrorWhereThatLosesTheSession(CuttingProxy.Cut cut) throws Exception {
        CuttingProxy leg = open.add(CuttingProxy.to(open.add(official()).port()));
        try (RawSseSession session = RawSseSession.open(before(leg.port()).port())) {
            called(session);
            leg.cut(cut);
            assertFateIsUnknown(session);
            assertThat(session.receive().at("/method").asString()).isEqualTo("notifications/cancelled");
            session.assertAlive();
        }
        assertThat(executed).containsExactly("asking");
    }

    @Test
    void anUpstreamThatIsStartedAgainServesTheSameSession() throws Exception {
        OfficialSseServer server = official();
        CuttingProxy leg = open.add(CuttingProxy.to(server.port()));
        try (RawSseSession session = RawSseSession.open(before(leg.port()).port())) {
            called(session);
            leg.refuse();
            leg.cut(CuttingProxy.Cut.RST);
            server.close();
            leg.leadTo(open.add(official()).port());
            leg.accept();
            assertFateIsUnknown(session);
            session.send(Json.echo("2", "again"));
            JsonNode response = response(session);
            assertThat(response.at("/id").asInt()).isEqualTo(2);
            assertThat(response.at("/result/content/0/text").asString()).isEqualTo("again");
            session.assertAlive();
        }
        assertThat(executed).containsExactly("asking");
    }

    /** A way to a server that loses the next sessions, as many as {@code losses} says, each when its {@code initialize} comes. */
    private CuttingProxy losing() throws Exception {
        Set<String> sessions = ConcurrentHashMap.newKeySet();
        CompletableFuture<CuttingProxy> leg = new CompletableFuture<>();
        Filter losing = (request, response, chain) -> {
            HttpServletRequest asked = (HttpServletRequest) request;
            if (asked.getMethod().equals("GET")) {
                streams.incrementAndGet();
            } else if (asked.getRequestURI().equals("/messages")
                    && sessions.add(asked.getQueryString())
                    && losses.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                leg.join().cutStreams(CuttingProxy.Cut.RST);
            }
            chain.doFilter(request, response);
        };
        leg.complete(open.add(CuttingProxy.to(
                open.add(OfficialSseServer.start(List.of(losing), Tools.echo())).port())));
        return leg.join();
    }

    /** Over Streamable HTTP the {@code initialize} would be sent again in the same way. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void anUpstreamThatLosesItsSessionWhileItIsOpenedIsAskedForAnother(int times) throws Exception {
        CuttingProxy leg = losing();
        losses.set(times);
        try (RawSseSession session = RawSseSession.open(before(leg.port()).port())) {
            session.assertAlive();
        }
        assertThat(leg.cuts()).isEqualTo(times);
        assertThat(streams).hasValue(times + 1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void anUpstreamThatLosesItsSessionWhileItIsRestoredIsAskedForAnother(int times) throws Exception {
        CuttingProxy leg = losing();
        try (RawSseSession session = RawSseSession.open(before(leg.port()).port())) {
            session.assertAlive();
            losses.set(times);
            leg.cutStreams(CuttingProxy.Cut.RST);
            session.send(Json.request("1", "tools/list", "{}"));
            JsonNode response = response(session);
            assertThat(response.at("/id").asInt()).isEqualTo(1);
            assertThat(response.at("/result/tools/0/name").asString())
                    .as("%s", response)
                    .isEqualTo("echo");
            session.assertAlive();
        }
        assertThat(leg.cuts()).isEqualTo(1 + times);
        assertThat(streams).hasValue(1 + times + 1);
    }

    private static void assertFateIsUnknown(RawSseSession session) {
        JsonNode response = response(session);
        assertThat(response.at("/id").asInt()).isEqualTo(1);
        assertThat(response.at("/error/message").asString()).contains(UpstreamFront.FATE_UNKNOWN);
    }

    /** The next response; what else comes before it is passed over. */
    private static JsonNode response(RawSseSession session) {
        JsonNode message = session.receive();
        while (message.has("method")) {
            message = session.receive();
        }
        return message;
    }
}
