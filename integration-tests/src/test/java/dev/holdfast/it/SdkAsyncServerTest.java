package dev.holdfast.it;

import io.modelcontextprotocol.server.AbstractMcpAsyncServerTests;
import io.modelcontextprotocol.server.McpServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The SDK's own test of its asynchronous server, on Holdfast. */
@Tag("sdk2")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class SdkAsyncServerTest extends AbstractMcpAsyncServerTests {
    private final MountedTransports transports;

    SdkAsyncServerTest(ContainerKind kind) {
        this.transports = new MountedTransports(kind);
    }

    @Override
    protected McpServer.AsyncSpecification<?> prepareAsyncServerBuilder() {
        return McpServer.async(transports.mount());
    }

    @Override
    protected void onClose() {
        transports.close();
    }
}
