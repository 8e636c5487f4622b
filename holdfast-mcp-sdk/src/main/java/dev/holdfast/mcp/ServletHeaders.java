package dev.holdfast.mcp;

import io.modelcontextprotocol.server.transport.HeaderAccessor;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Collections;
import java.util.List;

/** A request's headers, as the SDK's validators want to see them. */
record ServletHeaders(HttpServletRequest request) implements HeaderAccessor {
    @Override
    public List<String> getHeader(String name) {
        return Collections.list(request.getHeaders(name));
    }

    @Override
    public List<String> getHeaderNames() {
        return Collections.list(request.getHeaderNames());
    }
}
