package dev.holdfast.mcp.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.AuthorizationHandler;
import dev.holdfast.client.RequestCustomizer;
import io.modelcontextprotocol.client.transport.HttpRequestSnapshot;
import io.modelcontextprotocol.client.transport.customizer.DelegatingMcpAsyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.client.transport.customizer.McpAsyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.client.transport.customizer.McpHttpClientAuthorizationErrorHandler;
import io.modelcontextprotocol.client.transport.customizer.McpHttpClientTransportAuthorizationErrorHandler;
import io.modelcontextprotocol.common.McpTransportContext;
import java.net.http.HttpResponse.ResponseInfo;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** The SDK's customizers and handlers as this client calls them: with the context of the message that they serve. */
final class Customizers {
    private Customizers() {}

    static RequestCustomizer of(List<McpAsyncHttpClientRequestCustomizer> customizers) {
        if (customizers.isEmpty()) {
            return RequestCustomizer.NONE;
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

    static AuthorizationHandler of(McpHttpClientTransportAuthorizationErrorHandler handler) {
        return (request, status, headers, times, context) -> times >= handler.maxRetries()
                ? CompletableFuture.completedFuture(false)
                : Mono.from(handler.handle(
                                new HttpRequestSnapshot(request.uri(), request.method(), request.headers()),
                                new Failures.Head(status, headers),
                                transportContext(context)))
                        .contextWrite(reactorContext(context))
                        .defaultIfEmpty(false)
                        .toFuture();
    }

    /** A handler of the kind before. */
    @SuppressWarnings("removal")
    static McpHttpClientTransportAuthorizationErrorHandler adapted(McpHttpClientAuthorizationErrorHandler handler) {
        return new McpHttpClientTransportAuthorizationErrorHandler() {
            @Override
            public Publisher<Boolean> handle(
                    HttpRequestSnapshot request, ResponseInfo response, McpTransportContext context) {
                return handler.handle(response, context);
            }

            @Override
            public int maxRetries() {
                return handler.maxRetries();
            }
        };
    }

    private static ContextView reactorContext(Object context) {
        return context instanceof ContextView view ? view : Context.empty();
    }

    private static McpTransportContext transportContext(Object context) {
        return reactorContext(context)
                .<McpTransportContext>getOrEmpty(McpTransportContext.KEY)
                .orElse(McpTransportContext.EMPTY);
    }
}
