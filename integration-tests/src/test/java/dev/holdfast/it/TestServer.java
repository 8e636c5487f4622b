package dev.holdfast.it;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import dev.holdfast.servlet.EdgeOptions;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A server of the SDK with a few tools, on one transport, in one container. It always has the tool {@code echo}. */
final class TestServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final Container container;
    private final HttpServlet servlet;
    private final McpStreamableServerTransportProvider transport;

    private TestServer(Container container, HttpServlet servlet, McpStreamableServerTransportProvider transport) {
        this.container = container;
        this.servlet = servlet;
        this.transport = transport;
    }

    static Builder in(ContainerKind kind) {
        return new Builder(kind);
    }

    int port() {
        return container.port();
    }

    /** The transport under the server, where it is Holdfast's. */
    HoldfastTransportProvider holdfast() {
        return (HoldfastTransportProvider) transport;
    }

    /** Sends a log message to every client. */
    void log(String text) {
        notifyClients("notifications/message", message(text));
    }

    /** Sends a log message to one client. */
    void log(RawSession session, String text) {
        log(session.id(), text);
    }

    /** Sends a log message to the client of a session, by its id or by the SDK's own. */
    void log(String sessionId, String text) {
        holdfast()
                .notifyClient(sessionId, "notifications/message", message(text))
                .block(PATIENCE);
    }

    private static Map<String, Object> message(String text) {
        return Map.of("level", "info", "logger", "test", "data", text);
    }

    /** Sends a notification to every client. */
    void notifyClients(String method, Object params) {
        transport.notifyClients(method, params).block(PATIENCE);
    }

    HttpServlet servlet() {
        return servlet;
    }

    @Override
    public void close() throws Exception {
        transport.closeGracefully().block(PATIENCE);
        container.stop();
    }

    /** What a test wants of its server. */
    static final class Builder {
        private final ContainerKind kind;
        private final List<AsyncToolSpecification> tools = new ArrayList<>(List.of(Tools.echo()));
        private final List<Filter> filters = new ArrayList<>();
        private UnaryOperator<EdgeOptions.Builder> edgeOptions = options -> options;
        private UnaryOperator<HoldfastTransportProviderBuilder> transportOptions = builder -> builder;
        private Consumer<McpServer.AsyncSpecification<?>> server = specification -> {};
        private @Nullable Consumer<McpServer.SyncSpecification<?>> syncServer;
        private boolean http2;
        private int threads = 40;
        private Duration writeTimeout = Duration.ofSeconds(20);
        private @Nullable HttpServlet servlet;
        private @Nullable McpStreamableServerTransportProvider transport;

        private Builder(ContainerKind kind) {
            this.kind = kind;
        }

        /** Turns knobs of Holdfast's transport. */
        Builder options(UnaryOperator<HoldfastTransportProviderBuilder> change) {
            transportOptions = change;
            return this;
        }

        /** Turns knobs of Holdfast's edge; stuck connections are reset where the container can. */
        Builder edge(UnaryOperator<EdgeOptions.Builder> change) {
            edgeOptions = change;
            return this;
        }

        /** Puts another transport under the server. */
        <T extends HttpServlet & McpStreamableServerTransportProvider> Builder transport(T other) {
            servlet = other;
            transport = other;
            return this;
        }

        Builder tool(String name, BiFunction<McpAsyncServerExchange, CallToolRequest, Mono<String>> handler) {
            return tool(Tools.tool(name, handler));
        }

        Builder tool(AsyncToolSpecification tool) {
            tools.add(tool);
            return this;
        }

        Builder server(Consumer<McpServer.AsyncSpecification<?>> change) {
            server = change;
            return this;
        }

        /** Makes it a synchronous server, which has no other tools than {@code echo} and those that are given to it here. */
        Builder syncServer(Consumer<McpServer.SyncSpecification<?>> change) {
            syncServer = change;
            return this;
        }

        Builder filter(Filter filter) {
            filters.add(filter);
            return this;
        }

        /** Serves HTTP/2 too, without TLS. */
        Builder http2() {
            http2 = true;
            return this;
        }

        Builder threads(int count) {
            threads = count;
            return this;
        }

        Builder writeTimeout(Duration timeout) {
            writeTimeout = timeout;
            return this;
        }

        TestServer start() throws Exception {
            Container container = kind.create(threads, writeTimeout);
            if (http2) {
                container.serveHttp2();
            }
            HttpServlet onPath = servlet;
            McpStreamableServerTransportProvider under = transport;
            if (onPath == null || under == null) {
                HoldfastTransportProvider own = holdfast(container);
                onPath = own;
                under = own;
            }
            build(under);
            container.start(onPath, filters);
            return new TestServer(container, onPath, under);
        }

        private void build(McpStreamableServerTransportProvider under) {
            ServerCapabilities capabilities =
                    ServerCapabilities.builder().tools(false).logging().build();
            if (syncServer == null) {
                McpServer.AsyncSpecification<?> specification = McpServer.async(under)
                        .serverInfo("test", "1")
                        .capabilities(capabilities)
                        .tools(tools);
                server.accept(specification);
                specification.build();
            } else {
                McpServer.SyncSpecification<?> specification = McpServer.sync(under)
                        .serverInfo("test", "1")
                        .capabilities(capabilities)
                        .toolCall(Tools.definition("echo"), (exchange, request) -> Tools.text(Tools.textOf(request)));
                syncServer.accept(specification);
                specification.build();
            }
        }

        private HoldfastTransportProvider holdfast(Container container) {
            EdgeOptions.Builder options = EdgeOptions.builder().connectionReset(container.connectionReset());
            return transportOptions
                    .apply(HoldfastTransportProvider.builder()
                            .edgeOptions(edgeOptions.apply(options).build()))
                    .build();
        }
    }
}
