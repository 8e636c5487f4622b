package dev.holdfast.it;

import io.modelcontextprotocol.client.AbstractMcpSyncClientTests;
import io.modelcontextprotocol.spec.McpClientTransport;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The SDK's own tests of its synchronous client against the reference server, with Holdfast's transport under it. */
@Tag("node")
@Timeout(60)
class EverythingSyncClientTest extends AbstractMcpSyncClientTests {
    @RegisterExtension
    static final EverythingServer SERVER = new EverythingServer();

    @Override
    protected Duration getInitializationTimeout() {
        return Duration.ofSeconds(20);
    }

    @Override
    protected McpClientTransport createMcpTransport() {
        return SERVER.transport();
    }
}
