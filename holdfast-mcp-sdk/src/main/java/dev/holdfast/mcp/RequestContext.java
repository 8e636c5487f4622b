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
import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * The transport context of a request, with the headers that somebody wants to see who follows its calls, and what Reactor takes from one
 * thread to another: the thread-locals that are registered with Micrometer's context-propagation, where that is on the class path. A call
 * may start on another thread than that of its request, where it waits for the store or for its session to come back, so they are taken
 * when the request comes.
 */
final class RequestContext implements McpTransportContext, RequestOrigin {
    private static final String REGISTRY = "io.micrometer.context.ContextRegistry";

    /** What a {@code CallWatch} makes current just before the call starts, and not with the request. */
    private static final String OBSERVATION = "micrometer.observation";

    /** Whether Reactor finds the library that takes thread-locals. */
    private static final boolean PROPAGATES = propagates();

    /** It looks at the thread that asks, each time anew. */
    private static final Mono<ContextView> CAPTURE =
            Mono.deferContextual(Mono::just).contextCapture();

    /** Makes the context of an application that takes nothing from its requests. */
    static final McpTransportContextExtractor<HttpServletRequest> NOTHING = request -> McpTransportContext.EMPTY;

    private final McpTransportContext extracted;
    private final Map<String, String> headers;
    private final ContextView threadLocals;

    private RequestContext(McpTransportContext extracted, Map<String, String> headers, ContextView threadLocals) {
        this.extracted = extracted;
        this.headers = headers;
        this.threadLocals = threadLocals;
    }

    /** How the context of a request is made. */
    static Function<HttpServletRequest, Object> of(
            McpTransportContextExtractor<HttpServletRequest> extractor, List<String> wanted) {
        return request -> {
            McpTransportContext context = extractor.extract(request);
            ContextView threadLocals = threadLocals();
            return wanted.isEmpty() && threadLocals.isEmpty()
                    ? context
                    : new RequestContext(context, headers(request, wanted), threadLocals);
        };
    }

    private static Map<String, String> headers(HttpServletRequest request, List<String> wanted) {
        Map<String, String> found = new HashMap<>();
        for (String name : wanted) {
            Optional.ofNullable(request.getHeader(name)).ifPresent(value -> found.put(name, value));
        }
        return found;
    }

    /** Those of this thread; nothing where nobody can take them along. */
    private static ContextView threadLocals() {
        return PROPAGATES ? CAPTURE.toFuture().join() : Context.empty();
    }

    private static boolean propagates() {
        try {
            Class.forName(REGISTRY, false, Mono.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /**
     * Of a message's context only what the application's extractor has made: a handler may keep it, and the request shall not stay with
     * it.
     */
    static McpTransportContext extracted(Object edge) {
        if (edge instanceof RequestContext request) {
            return request.extracted;
        }
        return edge instanceof McpTransportContext given ? given : McpTransportContext.EMPTY;
    }

    /** Adds the thread-locals of the request that a message came with, by the context of the message, to that of its handler. */
    static Context propagated(Object edge, Context context) {
        if (edge instanceof RequestContext request && !request.threadLocals.isEmpty()) {
            Context taken = context.putAll(request.threadLocals);
            return threadLocals()
                    .getOrEmpty(OBSERVATION)
                    .map(current -> taken.put(OBSERVATION, current))
                    .orElse(taken);
        }
        return context;
    }

    @Override
    public @Nullable Object get(String key) {
        return extracted.get(key);
    }

    @Override
    public Optional<String> header(String name) {
        return Optional.ofNullable(headers.get(name));
    }
}
