package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.upstream.ForwardedHeaders;
import dev.holdfast.upstream.UpstreamHttp;
import io.modelcontextprotocol.common.McpTransportContext;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** A plain Java application in front of a server of the SDK, over each HTTP client, and cuts between them. */
@Timeout(60)
class UpstreamLibraryTest extends UpstreamOverEachHttp {
    UpstreamLibraryTest(UpstreamHttp http) {
        super(http);
    }

    /** A client of an application that stands in front of what is behind this leg. */
    private RawSession through(CuttingProxy leg) {
        return RawSession.open(front(backend(OfficialServer.at(leg.port()))).port());
    }

    @Test
    void aCutEndsTheCallThatRanAndNeitherTheSessionNorAnyOtherCall() throws Exception {
        CuttingProxy leg = leg(official().port());
        RawSession session = through(leg);
        session.assertAlive();
        try (RawConnection call = session.send(session.post(Json.call("1", "quiet")))) {
            await().until(() -> !executed.isEmpty());
            leg.cut(CuttingProxy.Cut.RST);

            assertThat(call.head().status()).isEqualTo(200);
            JsonNode response = call.message().json();
            assertThat(response.at("/error/message").asString()).contains(UpstreamFront.FATE_UNKNOWN);
        }
        session.assertAlive();
        assertThat(executed).containsExactly("quiet");
        assertThat(leg.cuts()).isPositive();
    }

    @Test
    void theSessionGoesOnAtAServerThatWasStartedAgain() throws Exception {
        CuttingProxy leg = leg(official().port());
        RawSession session = through(leg);
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
        TestServer server = open.add(TestServer.in(ContainerKind.JETTY)
                .options(options -> options.contextExtractor(request -> {
                    seen.add(request.getHeader("Authorization") + " " + request.getHeader("X-Other"));
                    return McpTransportContext.EMPTY;
                }))
                .start());
        ForwardedHeaders headers = ForwardedHeaders.named("Authorization");
        UpstreamFront front = front(
                backend(OfficialServer.at(server.port())).forward(headers),
                EdgeOptions.builder().context(headers).build());

        RawSession session = RawSession.open(front.port(), Map.of("Authorization", "Bearer one", "X-Other", "no"));
        session.assertAlive();

        // each message takes along what its own request had
        assertThat(seen).containsOnly("Bearer one null", "null null");
    }
}
