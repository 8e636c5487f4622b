package dev.holdfast.it;

import io.modelcontextprotocol.server.AbstractMcpSyncServerTests;
import io.modelcontextprotocol.server.McpServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The SDK's own test of its synchronous server, on Holdfast. */
@Tag("sdk2")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class SdkSyncServerTest extends AbstractMcpSyncServerTests {
    private final MountedTransports transports;

    SdkSyncServerTest(ContainerKind kind) {
        this.transports = new MountedTransports(kind);
    }

    @Override
    protected McpServer.SyncSpecification<?> prepareSyncServerBuilder() {
        return McpServer.sync(transports.mount());
    }

    @Override
    protected void onClose() {
        transports.close();
    }
}
