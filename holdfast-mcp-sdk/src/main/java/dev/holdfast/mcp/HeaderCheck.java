package dev.holdfast.mcp;

import dev.holdfast.json.JsonRpc;
import io.modelcontextprotocol.server.transport.HeaderAccessor;
import io.modelcontextprotocol.server.transport.ServerHttpHeaderValidator;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityException;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityValidator;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A server's own check of a request's headers, and the answer to a request that does not pass it. */
final class HeaderCheck {
    private static final Logger log = LoggerFactory.getLogger(HeaderCheck.class);

    /** Lets every request pass. */
    static final HeaderCheck NONE = new HeaderCheck(request -> {});

    private final Check check;

    HeaderCheck(Check check) {
        this.check = check;
    }

    /** The check that every mcp-core knows, though it is deprecated since 2.1.0. */
    @SuppressWarnings("deprecation")
    static HeaderCheck by(ServerTransportSecurityValidator validator) {
        return new HeaderCheck(request -> validator.validateHeaders(headers(request)));
    }

    /** All headers of a request, whatever the case of their names. */
    private static Map<String, List<String>> headers(HttpServletRequest request) {
        Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (String name : Collections.list(request.getHeaderNames())) {
            headers.put(name, Collections.list(request.getHeaders(name)));
        }
        return headers;
    }

    /** Whether a request passes; one that does not is answered, and must not be touched any more. */
    boolean admits(HttpServletRequest request, HttpServletResponse response) throws IOException {
        try {
            check.validate(request);
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
        response.setContentType("application/json;charset=utf-8");
        response.setHeader("Cache-Control", "no-store");
        response.getOutputStream().write(body);
    }

    /** What a server asks of a request's headers. */
    @FunctionalInterface
    interface Check {
        void validate(HttpServletRequest request) throws ServerTransportSecurityException;
    }

    /** The check of headers that came with mcp-core 2.1.0. Loaded when somebody gives one, so that older versions do without its types. */
    static final class Since21 {
        private Since21() {}

        static HeaderCheck by(ServerHttpHeaderValidator validator) {
            Objects.requireNonNull(validator, "httpHeaderValidator");
            return new HeaderCheck(request -> validator.validate(new Headers(request)));
        }

        private record Headers(HttpServletRequest request) implements HeaderAccessor {
            @Override
            public List<String> getHeader(String name) {
                return Collections.list(request.getHeaders(name));
            }

            @Override
            public List<String> getHeaderNames() {
                return Collections.list(request.getHeaderNames());
            }
        }
    }
}
