package dev.holdfast.mcp;

import dev.holdfast.RequestOrigin;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import jakarta.servlet.http.HttpServletRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The transport context of a request, with the headers that somebody wants to see who follows its calls. */
final class OriginContext implements McpTransportContext, RequestOrigin {
    private final McpTransportContext context;
    private final Map<String, String> headers;

    private OriginContext(McpTransportContext context, Map<String, String> headers) {
        this.context = context;
        this.headers = headers;
    }

    /** How the context of a request is made. */
    static Function<HttpServletRequest, Object> of(
            McpTransportContextExtractor<HttpServletRequest> extractor, List<String> wanted) {
        return wanted.isEmpty()
                ? extractor::extract
                : request -> new OriginContext(extractor.extract(request), headers(request, wanted));
    }

    private static Map<String, String> headers(HttpServletRequest request, List<String> wanted) {
        Map<String, String> found = new HashMap<>();
        for (String name : wanted) {
            Optional.ofNullable(request.getHeader(name)).ifPresent(value -> found.put(name, value));
        }
        return found;
    }

    @Override
    public @Nullable Object get(String key) {
        return context.get(key);
    }

    @Override
    public Optional<String> header(String name) {
        return Optional.ofNullable(headers.get(name));
    }
}
