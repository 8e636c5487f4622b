package dev.holdfast.it;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.AbstractMcpAsyncClientTests;
import io.modelcontextprotocol.spec.McpClientTransport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** The SDK's own tests of its asynchronous client against the reference server, with Holdfast's transport under it. */
@Tag("node")
@Timeout(60)
class EverythingAsyncClientTest extends AbstractMcpAsyncClientTests {
    private static NodeServer server;

    @BeforeAll
    static void start() throws Exception {
        server = NodeServer.everything();
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @Override
    protected McpClientTransport createMcpTransport() {
        return HoldfastClientTransport.builder("http://127.0.0.1:" + server.port())
                .build();
    }
}
