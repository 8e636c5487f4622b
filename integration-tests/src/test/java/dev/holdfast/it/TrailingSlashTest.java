package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that are given the address of a server with a slash at its end: it is the same address. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
@Tag("edge")
class TrailingSlashTest {
    private final ContainerKind kind;

    TrailingSlashTest(ContainerKind kind) {
        this.kind = kind;
    }

    private TestServer start(String endpoint) throws Exception {
        return TestServer.in(kind)
                .options(options -> options.mcpEndpoint(endpoint).sseEndpoint("/sse"))
                .start();
    }

    @ParameterizedTest
    @CsvSource({"/mcp, /mcp/", "/mcp/, /mcp/", "/mcp/, /mcp", "mcp, /mcp/", "/a/mcp, /ctx/a/mcp/", "/, /", "/, /ctx/"})
    void litellm34845_everyMethodIsServed(String endpoint, String path) throws Exception {
        try (TestServer server = start(endpoint)) {
            String id;
            try (RawConnection connection = RawConnection.open(server.port())
                    .send(RawRequest.post(Json.initialize(RawSession.NEWEST)).to(path))) {
                RawConnection.Head head = connection.head();
                assertThat(head.status()).isEqualTo(200);
                id = head.header("Mcp-Session-Id").orElseThrow();
            }
            assertStatus(200, server, RawRequest.post(Json.echo("1", "hello")).to(path), id);
            assertStatus(200, server, RawRequest.get().to(path), id);
            assertStatus(405, server, RawRequest.of("OPTIONS").to(path), id);
            assertStatus(200, server, RawRequest.of("DELETE").to(path), id);
            assertStatus(404, server, RawRequest.post(Json.echo("1", "hello")).to(path), id);
        }
    }

    private static void assertStatus(int status, TestServer server, RawRequest request, String session) {
        try (RawConnection connection =
                RawConnection.open(server.port()).send(request.with("Mcp-Session-Id", session))) {
            assertThat(connection.head().status()).as(request.toString()).isEqualTo(status);
        }
    }

    @Test
    void litellm34845_httpSseIsServed() throws Exception {
        try (TestServer server = start("/mcp")) {
            try (RawSseSession session =
                    RawSseSession.connect(server.port(), RawSseSession.get().to("/ctx/sse/"))) {
                assertThat(session.endpoint()).startsWith("/ctx/message?sessionId=");
                session.initialize().assertAlive();
                String slashed = session.endpoint().replace("message?", "message/?");
                assertThat(session.status(session.post(Json.echo("7", "hello")).to(slashed)))
                        .isEqualTo(202);
                assertThat(session.receive().at("/id").asInt()).isEqualTo(7);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/mcp//", "/mcp/x", "/mc/", "/x/", "//", "/"})
    void anotherPathIsNotServed(String path) throws Exception {
        try (TestServer server = start("/mcp");
                RawConnection connection = RawConnection.open(server.port())
                        .send(RawRequest.post(Json.initialize(RawSession.NEWEST))
                                .to(path))) {
            assertThat(connection.head().status()).isIn(400, 404);
        }
    }

    @Test
    void theEndpointsNameBothSpellings() throws Exception {
        try (TestServer server = start("/mcp/")) {
            assertThat(server.holdfast().endpoints())
                    .containsExactly("/mcp", "/sse", "/message", "/mcp/", "/sse/", "/message/");
        }
        assertThat(Optional.of(dev.holdfast.mcp.HoldfastTransportProvider.builder()
                                .mcpEndpoint("/")
                                .build())
                        .map(transport -> transport.endpoints())
                        .orElseThrow())
                .containsExactly("/");
    }
}
