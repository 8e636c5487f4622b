package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.servlet.Authenticator;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Clients that send the id of a session with their {@code initialize}: they want a new one, whatever has become of the other. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class InitializeAnewTest {
    private final ContainerKind kind;

    InitializeAnewTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer start(UnaryOperator<HoldfastTransportProviderBuilder> options) throws Exception {
        return TestServer.in(kind).options(options).start();
    }

    /** Initializes with the id of another session; returns the id of the new one. */
    private static String initialize(int port, String other, String... headers) {
        RawRequest request = RawRequest.post(Json.initialize(RawSession.NEWEST)).with("Mcp-Session-Id", other);
        for (int i = 0; i < headers.length; i += 2) {
            request = request.with(headers[i], headers[i + 1]);
        }
        try (RawConnection connection = RawConnection.open(port).send(request)) {
            RawConnection.Head head = connection.head();
            JsonNode response = Json.parse(connection.body());
            assertThat(head.status()).as(response.toString()).isEqualTo(200);
            assertThat(response.at("/result/protocolVersion").asString()).isEqualTo(RawSession.NEWEST);
            return head.header("Mcp-Session-Id").orElseThrow();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"00000000-0000-0000-0000-000000000000", "x", "../../etc/passwd", "%00", "\u00e9", "*", "a, b", ""
            })
    void omniRoute5957_anUnknownOrDamagedIdOpensASession(String id) throws Exception {
        for (boolean immediately : new boolean[] {false, true}) {
            try (TestServer server = start(options -> options.immediateExecution(immediately))) {
                assertThat(initialize(server.port(), id)).isNotEqualTo(id);
                assertThat(initialize(server.port(), id.repeat(3_000 / Math.max(1, id.length()))))
                        .isNotEqualTo(id);
            }
        }
    }

    @Test
    void omniRoute5957_theIdOfAnEndedSessionOpensAnother() throws Exception {
        try (TestServer server = start(options -> options)) {
            RawSession ended = RawSession.open(server.port());
            assertThat(ended.status(ended.delete())).isEqualTo(200);

            assertThat(initialize(server.port(), ended.id())).isNotEqualTo(ended.id());
            ended.assertGone();
        }
    }

    @Test
    void omniRoute5957_aLiveSessionIsLeftAsItIs() throws Exception {
        try (TestServer server = start(options -> options)) {
            RawSession live = RawSession.open(server.port());

            assertThat(initialize(server.port(), live.id())).isNotEqualTo(live.id());
            live.assertAlive();
            assertThat(server.holdfast().engine().size()).isEqualTo(2);
        }
    }

    @Test
    void omniRoute5957_theSessionOfAnotherPrincipalIsNeitherToldNorTouched() throws Exception {
        Authenticator byName = request -> new Authenticator.Known(request.getHeader("X-User"));
        try (TestServer server = start(options -> options.authenticator(byName))) {
            String alices = initialize(server.port(), "none", "X-User", "alice");

            assertThat(initialize(server.port(), alices, "X-User", "bob")).isNotEqualTo(alices);
            RawRequest ping = RawRequest.post(Json.request("1", "ping", "{}")).with("Mcp-Session-Id", alices);
            Refusal.of(server.port(), ping.with("X-User", "bob")).assertIs(404, -32001, "session not found");
            try (RawConnection call = RawConnection.open(server.port()).send(ping.with("X-User", "alice"))) {
                assertThat(call.head().status()).isEqualTo(200);
            }
        }
    }

    @Test
    void omniRoute5957_aSessionThatWaitsInTheStoreStaysThere(@TempDir Path folder) throws Exception {
        RawSession kept;
        try (RocksDbStore store = RocksDbStore.builder(folder).open();
                TestServer server = start(options -> options.store(store))) {
            kept = RawSession.open(server.port());
        }
        try (RocksDbStore store = RocksDbStore.builder(folder).open();
                TestServer server = start(options -> options.store(store))) {
            assertThat(initialize(server.port(), kept.id())).isNotEqualTo(kept.id());
            kept.movedTo(server.port()).assertAlive();
        }
    }

    @Test
    void anythingElseForAnUnknownSessionIsToldSoWithItsId() throws Exception {
        try (TestServer server = start(options -> options)) {
            RawRequest call = RawRequest.post(Json.echo("\"mine\"", "hello")).with("Mcp-Session-Id", "forged");

            Refusal refusal = Refusal.of(server.port(), call).assertIs(404, -32001, "session not found");
            assertThat(refusal.json().at("/id").asString()).isEqualTo("mine");
            Refusal.of(
                            server.port(),
                            RawRequest.post(Json.notification("notifications/initialized", "{}"))
                                    .with("Mcp-Session-Id", "forged"))
                    .assertIs(404, -32001, "session not found");
            Refusal.of(
                            server.port(),
                            RawRequest.post("[" + Json.initialize(RawSession.NEWEST) + "]")
                                    .with("Mcp-Session-Id", "forged"))
                    .assertIs(404, -32001, "session not found");
        }
    }
}
