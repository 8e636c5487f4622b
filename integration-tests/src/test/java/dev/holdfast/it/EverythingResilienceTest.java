package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpTransportSessionClosedException;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What the SDK's {@code AbstractMcpAsyncClientResiliencyTests} tests of its client at the reference server, with its transport and with
 * Holdfast's; that class is not inherited because it starts Docker containers as soon as it is loaded, and its hooks are visible to its
 * own package only.
 */
@Tag("node")
@Timeout(60)
@Execution(ExecutionMode.CONCURRENT)
class EverythingResilienceTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final CallToolRequest ECHO = CallToolRequest.builder("echo")
            .arguments(Map.of("message", "hello"))
            .build();

    private NodeServer server;
    private CuttingProxy proxy;
    /** Its port is nobody's. */
    private CuttingProxy nowhere;

    private enum Kind {
        OFFICIAL {
            @Override
            McpClientTransport to(int port) {
                return HttpClientStreamableHttpTransport.builder("http://127.0.0.1:" + port)
                        .build();
            }
        },
        HOLDFAST {
            @Override
            McpClientTransport to(int port) {
                return HoldfastClientTransport.builder("http://127.0.0.1:" + port)
                        .patience(Duration.ofSeconds(2)) // less than a request waits: it is to fail during the outage
                        .build();
            }
        };

        abstract McpClientTransport to(int port);
    }

    @BeforeEach
    void start() throws Exception {
        server = NodeServer.everything();
        proxy = CuttingProxy.to(server.port());
        nowhere = CuttingProxy.to(server.port());
        nowhere.refuse();
    }

    @AfterEach
    void stop() throws Exception {
        nowhere.close();
        proxy.close();
        server.close();
    }

    private McpAsyncClient client(Kind kind) {
        McpAsyncClient client = McpClient.async(kind.to(proxy.port()))
                .requestTimeout(Duration.ofSeconds(14))
                .initializationTimeout(PATIENCE)
                .build();
        client.initialize().block(PATIENCE);
        return client;
    }

    /** Connections are reset, and so are those that are made from now on, as soon as they are accepted. */
    private void disconnect() {
        proxy.leadTo(nowhere.port());
        proxy.cut(CuttingProxy.Cut.RST);
    }

    private void reconnect() {
        proxy.leadTo(server.port());
    }

    @ParameterizedTest
    @EnumSource
    void aPingFailsWhileTheServerIsAwayAndTheNextIsAnswered(Kind kind) {
        McpAsyncClient client = client(kind);

        disconnect();
        assertThatThrownBy(() -> client.ping().block(PATIENCE)).hasRootCauseInstanceOf(IOException.class);
        reconnect();

        assertThat(client.ping().block(PATIENCE)).isNotNull();
        client.closeGracefully().block(PATIENCE);
    }

    @ParameterizedTest
    @EnumSource
    void aServerThatWasStartedAgainGetsAnotherSession(Kind kind) throws Exception {
        McpAsyncClient client = client(kind);

        server.close();
        server = NodeServer.everything();
        reconnect();

        int retries = kind == Kind.OFFICIAL ? 1 : 0; // its first request after the restart fails
        assertThat(client.ping().retry(retries).block(PATIENCE)).isNotNull();
        client.closeGracefully().block(PATIENCE);
    }

    @ParameterizedTest
    @EnumSource
    void aCallFailsWhileTheServerIsAwayAndTheNextSucceeds(Kind kind) {
        McpAsyncClient client = client(kind);
        assertThat(client.listTools().blockOptional(PATIENCE).orElseThrow().tools())
                .anyMatch(tool -> tool.name().equals("echo"));

        disconnect();
        assertThatThrownBy(() -> client.callTool(ECHO).block(PATIENCE)).hasRootCauseInstanceOf(IOException.class);
        reconnect();

        assertThat(client.callTool(ECHO).blockOptional(PATIENCE).orElseThrow().isError())
                .isNotEqualTo(true);
        client.closeGracefully().block(PATIENCE);
    }

    @ParameterizedTest
    @EnumSource
    void aClosedSessionIsNotUsed(Kind kind) {
        McpAsyncClient client = client(kind);

        client.closeGracefully().block(PATIENCE);

        assertClosed(client);
    }

    @ParameterizedTest
    @EnumSource
    void aClientIsClosedWhileTheServerIsAway(Kind kind) {
        McpAsyncClient client = client(kind);

        disconnect();

        // the official one tells that its DELETE did not arrive
        client.closeGracefully()
                .onErrorComplete(failure -> kind == Kind.OFFICIAL)
                .block(PATIENCE);
        assertClosed(client);
    }

    private static void assertClosed(McpAsyncClient client) {
        assertThatThrownBy(() -> client.ping().block(PATIENCE))
                .cause()
                .isInstanceOf(McpTransportSessionClosedException.class);
    }
}
