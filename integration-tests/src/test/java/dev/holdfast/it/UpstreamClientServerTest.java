package dev.holdfast.it;

import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import org.junit.jupiter.api.AfterEach;

/** The SDK's own test of its client against its server, with a gateway between them. */
class UpstreamClientServerTest extends SdkClientServerTest {
    final ContainerKind kind;
    private final OpenResources fronts = new OpenResources();

    UpstreamClientServerTest(ContainerKind kind) {
        super(kind);
        this.kind = kind;
    }

    @Override
    McpServerTransportProviderBase transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return OfficialServer.transport(extractor);
    }

    /** A gateway before the server at a port. */
    UpstreamFront before(int port) {
        return new UpstreamFront(kind, URI.create("http://localhost:" + port + "/mcp"));
    }

    @Override
    protected void prepareClients(int port, String mcpEndpoint) {
        super.prepareClients(fronts.add(before(port)).port(), mcpEndpoint);
    }

    /** JUnit calls it before that which stops the server. */
    @AfterEach
    void closeFronts() throws Exception {
        fronts.close();
    }
}
