package dev.holdfast.it;

import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;

/** The SDK's own test of its client against its server, with a gateway between them. */
class UpstreamClientServerTest extends SdkClientServerTest {
    private final ContainerKind kind;
    private final List<UpstreamFront> fronts = new ArrayList<>();

    UpstreamClientServerTest(ContainerKind kind) {
        super(kind);
        this.kind = kind;
    }

    @Override
    McpStreamableServerTransportProvider transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        McpTransportContextExtractor<HttpServletRequest> known =
                request -> request == null ? McpTransportContext.EMPTY : extractor.extract(request);
        return HttpServletStreamableServerTransportProvider.builder()
                .mcpEndpoint("/mcp")
                .contextExtractor(known)
                .build();
    }

    @Override
    protected void prepareClients(int port, String mcpEndpoint) {
        UpstreamFront front = new UpstreamFront(kind, URI.create("http://localhost:" + port + mcpEndpoint));
        fronts.add(front);
        super.prepareClients(front.port(), mcpEndpoint);
    }

    @AfterEach
    void closeFronts() throws Exception {
        for (UpstreamFront front : fronts) {
            front.close();
        }
    }
}
