package dev.holdfast.it;

import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.http.HttpServletRequest;

/** The same with the official server transport on the other end, which gives no event ids. */
class ClientTransportOfficialServerTest extends ClientTransportClientServerTest {
    ClientTransportOfficialServerTest(ContainerKind kind) {
        super(kind);
    }

    @Override
    McpServerTransportProviderBase transport(McpTransportContextExtractor<HttpServletRequest> extractor) {
        return OfficialServer.transport(extractor);
    }
}
