package dev.holdfast.it;

import io.modelcontextprotocol.client.AbstractMcpAsyncClientTests;
import io.modelcontextprotocol.spec.McpClientTransport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The SDK's own tests of its asynchronous client against the reference server, with Holdfast's transport under it. */
@Tag("node")
@Timeout(60)
class EverythingAsyncClientTest extends AbstractMcpAsyncClientTests {
    @RegisterExtension
    static final EverythingServer SERVER = new EverythingServer();

    @Override
    protected McpClientTransport createMcpTransport() {
        return SERVER.transport();
    }
}
