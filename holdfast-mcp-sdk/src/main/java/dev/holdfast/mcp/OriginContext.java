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
import reactor.util.context.ContextView;

/**
 * The transport context of a request, with the headers that somebody wants to see who follows its calls, and the thread-locals of
 * its thread.
 */
final class OriginContext implements McpTransportContext, RequestOrigin {
    private final McpTransportContext context;
    private final Map<String, String> headers;
    private final ContextView threadLocals;

    private OriginContext(McpTransportContext context, Map<String, String> headers, ContextView threadLocals) {
        this.context = context;
        this.headers = headers;
        this.threadLocals = threadLocals;
    }

    /** How the context of a request is made. */
    static Function<HttpServletRequest, Object> of(
            McpTransportContextExtractor<HttpServletRequest> extractor, List<String> wanted) {
        return request -> {
            McpTransportContext context = extractor.extract(request);
            ContextView threadLocals = ThreadLocals.ofThisThread();
            return wanted.isEmpty() && threadLocals.isEmpty()
                    ? context
                    : new OriginContext(context, headers(request, wanted), threadLocals);
        };
    }

    private static Map<String, String> headers(HttpServletRequest request, List<String> wanted) {
        Map<String, String> found = new HashMap<>();
        for (String name : wanted) {
            Optional.ofNullable(request.getHeader(name)).ifPresent(value -> found.put(name, value));
        }
        return found;
    }

    /** What the application's extractor has made: what a handler may keep. */
    McpTransportContext extracted() {
        return context;
    }

    ContextView threadLocals() {
        return threadLocals;
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
