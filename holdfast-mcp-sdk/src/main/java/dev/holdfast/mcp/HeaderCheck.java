package dev.holdfast.mcp;

import dev.holdfast.servlet.JsonRpc;
import io.modelcontextprotocol.server.transport.ServerHttpHeaderValidator;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A server's own check of a request's headers, and the answer to a request that does not pass it. */
final class HeaderCheck {
    private static final Logger log = LoggerFactory.getLogger(HeaderCheck.class);

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
            refuse(response, e.getStatusCode(), JsonRpc.INVALID_REQUEST, String.valueOf(e.getMessage()));
            return false;
        } catch (RuntimeException e) {
            log.error("a check of headers failed", e);
            refuse(response, HttpServletResponse.SC_INTERNAL_SERVER_ERROR, JsonRpc.INTERNAL_ERROR, NeutralErrors.TEXT);
            return false;
        }
    }

    private static void refuse(HttpServletResponse response, int status, int code, String message) throws IOException {
        byte[] body = JsonRpc.errorBody(Optional.empty(), code, message);
        response.setStatus(status);
        response.setContentType("application/json");
        response.setHeader("Cache-Control", "no-store");
        response.getOutputStream().write(body);
    }
}
