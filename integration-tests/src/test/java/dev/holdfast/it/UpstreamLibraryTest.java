package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.upstream.ForwardedHeaders;
import dev.holdfast.upstream.UpstreamBackend;
import dev.holdfast.upstream.UpstreamHttp;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import tools.jackson.databind.JsonNode;

/** A plain Java application in front of a server of the SDK, over each HTTP client, and cuts between them. */
@Timeout(60)
@ParameterizedClass
@MethodSource("clients")
class UpstreamLibraryTest {
    private final UpstreamHttp http;
    private final List<String> executed = new CopyOnWriteArrayList<>();
    private final List<AutoCloseable> open = new CopyOnWriteArrayList<>();
    private final Sinks.Empty<Void> end = Sinks.empty();

    UpstreamLibraryTest(UpstreamHttp http) {
        this.http = http;
    }

    static Stream<Named<UpstreamHttp>> clients() {
        return Stream.of(Named.of("JDK", UpstreamHttp.jdk()), Named.of("Jetty", UpstreamHttp.jetty()));
    }

    private <T extends AutoCloseable> T closing(T resource) {
        open.add(0, resource);
        return resource;
    }

    @AfterEach
    void close() throws Exception {
        end.tryEmitEmpty();
        for (AutoCloseable each : open) {
            each.close();
        }
    }

    /** Waits for the end of the test. */
    private Mono<String> waiting(McpAsyncServerExchange exchange, CallToolRequest request) {
        executed.add("waiting");
        return end.asMono().thenReturn("done");
    }

    private OfficialServer official() throws Exception {
        return closing(OfficialServer.start(Tools.echo(), Tools.tool("waiting", this::waiting)));
    }

    private UpstreamFront before(int port) {
        return closing(new UpstreamFront(
                ContainerKind.JETTY,
                UpstreamBackend.builder(OfficialServer.at(port)).http(http).open(),
                EdgeOptions.builder().build()));
    }

    @Test
    void aCutEndsTheCallThatRanAndNeitherTheSessionNorAnyOtherCall() throws Exception {
        CuttingProxy leg = closing(CuttingProxy.to(official().port()));
        RawSession session = RawSession.open(before(leg.port()).port());
        session.assertAlive();
        try (RawConnection call = session.send(session.post(Json.call("1", "waiting")))) {
            await().until(() -> !executed.isEmpty());
            leg.cut(CuttingProxy.Cut.RST);

            assertThat(call.head().status()).isEqualTo(200);
            JsonNode response = call.message().json();
            assertThat(response.at("/error/message").asString())
                    .contains("it is not known whether the upstream has executed the request");
        }
        session.assertAlive();
        assertThat(executed).containsExactly("waiting");
        assertThat(leg.cuts()).isPositive();
    }

    @Test
    void theSessionGoesOnAtAServerThatWasStartedAgain() throws Exception {
        OfficialServer first = official();
        CuttingProxy leg = closing(CuttingProxy.to(first.port()));
        RawSession session = RawSession.open(before(leg.port()).port());
        session.assertAlive();

        leg.refuse();
        leg.cut(CuttingProxy.Cut.RST);
        leg.leadTo(official().port());
        leg.accept();

        session.assertAlive();
    }

    @Test
    void theHeadersThatAreNamedReachTheServer() throws Exception {
        List<String> seen = new CopyOnWriteArrayList<>();
        TestServer server = closing(TestServer.in(ContainerKind.JETTY)
                .options(options -> options.contextExtractor(request -> {
                    seen.add(request.getHeader("Authorization") + " " + request.getHeader("X-Other"));
                    return McpTransportContext.EMPTY;
                }))
                .start());
        ForwardedHeaders headers = ForwardedHeaders.named("Authorization");
        UpstreamFront front = closing(new UpstreamFront(
                ContainerKind.JETTY,
                UpstreamBackend.builder(OfficialServer.at(server.port()))
                        .http(http)
                        .forward(headers)
                        .open(),
                EdgeOptions.builder().context(headers).build()));

        RawSession session = RawSession.open(front.port(), Map.of("Authorization", "Bearer one", "X-Other", "no"));
        session.assertAlive();

        // each message takes along what its own request had
        assertThat(seen).containsOnly("Bearer one null", "null null");
    }
}
