package dev.holdfast.it;

import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.http.HttpServletRequest;

/** The same with the official server transport on the other end, which gives no event ids. */
class ClientTransportOfficialServerTest extends ClientTransportClientServerTest {
    ClientTransportOfficialServerTest(ContainerKind kind) {
        super(kind);
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
}
