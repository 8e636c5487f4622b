package dev.holdfast.mcp;

import dev.holdfast.servlet.JsonRpc;
import io.modelcontextprotocol.server.transport.ServerHttpHeaderValidator;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;

/** A server's own check of a request's headers, and the answer to a request that does not pass it. */
final class HeaderCheck {
    private final ServerHttpHeaderValidator validator;

    HeaderCheck(ServerHttpHeaderValidator validator) {
        this.validator = validator;
    }

    /** Whether a request passes; one that does not is answered, and must not be touched any more. */
    boolean admits(HttpServletRequest request, HttpServletResponse response) throws IOException {
        try {
            validator.validate(new ServletHeaders(request));
            return true;
        } catch (ServerTransportSecurityException e) {
            byte[] body = JsonRpc.errorBody(Optional.empty(), JsonRpc.INVALID_REQUEST, String.valueOf(e.getMessage()));
            response.setStatus(e.getStatusCode());
            response.setContentType("application/json");
            response.setHeader("Cache-Control", "no-store");
            response.getOutputStream().write(body);
            return false;
        }
    }
}
