package dev.holdfast.mcp.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.Requests;
import io.modelcontextprotocol.client.transport.customizer.DelegatingMcpAsyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.client.transport.customizer.McpAsyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.common.McpTransportContext;
import java.util.List;
import java.util.Optional;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** The SDK's customizers as this client calls them: with the context of the message that they serve. */
final class Customizers {
    private Customizers() {}

    static Requests.Customizer of(List<McpAsyncHttpClientRequestCustomizer> customizers) {
        if (customizers.isEmpty()) {
            return Requests.Customizer.NONE;
        }
        McpAsyncHttpClientRequestCustomizer all =
                new DelegatingMcpAsyncHttpClientRequestCustomizer(List.copyOf(customizers));
        return (request, method, uri, body, context) -> Mono.from(
                        all.customize(request, method, uri, text(body), transportContext(context)))
                .contextWrite(reactorContext(context))
                .toFuture();
    }

    // the SDK wants null for no body
    @SuppressWarnings("NullAway")
    private static String text(Optional<byte[]> body) {
        return body.map(bytes -> new String(bytes, UTF_8)).orElse(null);
    }

    static ContextView reactorContext(Object context) {
        return context instanceof ContextView view ? view : Context.empty();
    }

    static McpTransportContext transportContext(Object context) {
        return reactorContext(context)
                .<McpTransportContext>getOrEmpty(McpTransportContext.KEY)
                .orElse(McpTransportContext.EMPTY);
    }
}
