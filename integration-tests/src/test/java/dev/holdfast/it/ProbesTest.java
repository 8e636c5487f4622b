package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.servlet.Protocols;
import java.util.Set;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/** What clients that know both eras make of the answer to their {@code server/discover}, by the rules of their sources. */
@Timeout(60)
class ProbesTest {
    private static final Set<Integer> OF_THE_MODERN_ERA = Set.of(-32020, -32021, -32022);

    private enum Era {
        MODERN,
        LEGACY,
        /** The client gives up. */
        NONE
    }

    /** How a client reads the answer. */
    private enum Client {
        /** rust-sdk 1133: an error counts that answers the probe, and is none of the modern era. */
        RUST {
            @Override
            Era error(int status, JsonNode body) {
                int code = body.at("/error/code").asInt();
                return body.at("/id").asInt(-1) == 1 && !OF_THE_MODERN_ERA.contains(code) ? Era.LEGACY : Era.NONE;
            }
        },
        /** go-sdk 975. */
        GO {
            @Override
            Era error(int status, JsonNode body) {
                return status == 400 || body.at("/error/code").asInt() == -32601 ? Era.LEGACY : Era.NONE;
            }
        },
        /** python-sdk 2950. */
        PYTHON {
            @Override
            Era error(int status, JsonNode body) {
                return body.at("/error/code").asInt() == -32601 ? Era.LEGACY : Era.NONE;
            }
        },
        /** csharp-sdk 1766 and 1799: whatever is no JSON-RPC must be 400 or 404. */
        CSHARP {
            @Override
            Era error(int status, JsonNode body) {
                boolean json = body.at("/jsonrpc").asString("").equals("2.0")
                        && body.at("/error/code").isInt();
                boolean modern = json
                        && OF_THE_MODERN_ERA.contains(body.at("/error/code").asInt());
                return !modern && (json || status == 400 || status == 404) ? Era.LEGACY : Era.NONE;
            }
        };

        abstract Era error(int status, JsonNode body);

        Era era(int port) {
            RawRequest probe = RawRequest.post(Json.request(
                            "1",
                            "server/discover",
                            "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                    + "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"probe\",\"version\":\"1\"},"
                                    + "\"io.modelcontextprotocol/clientCapabilities\":{}}}"))
                    .with("MCP-Protocol-Version", "2026-07-28")
                    .with("Mcp-Method", "server/discover");
            try (RawConnection connection = RawConnection.open(port).send(probe)) {
                int status = connection.head().status();
                JsonNode body = Json.parse(connection.body());
                boolean served = status == 200
                        && body.at("/id").asInt() == 1
                        && body.at("/result/supportedVersions/0").asString("").equals("2026-07-28");
                return served ? Era.MODERN : error(status, body);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Client.class)
    void aClientSpeaksTheNewerRevisionWhereItIsServed(Client client) throws Exception {
        try (TestServer server = TestServer.in(ContainerKind.JETTY).start()) {
            assertThat(client.era(server.port())).isEqualTo(Era.MODERN);
        }
    }

    @ParameterizedTest
    @EnumSource(Client.class)
    void aClientFallsBackWhereItIsNotServed(Client client) throws Exception {
        try (TestServer server = TestServer.in(ContainerKind.JETTY)
                .edge(edge -> edge.protocols(Protocols.LEGACY))
                .start()) {
            assertThat(client.era(server.port())).isEqualTo(Era.LEGACY);
            // netclaw 1861: C#'s client may send the header of its probe with this
            try (RawConnection connection = RawConnection.open(server.port())
                    .send(RawRequest.post(Json.initialize(RawSession.NEWEST))
                            .with("MCP-Protocol-Version", "2026-07-28"))) {
                assertThat(connection.head().status()).isEqualTo(200);
            }
        }
    }
}
