package dev.holdfast.benchmarks.server;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import java.util.Objects;
import reactor.core.publisher.Mono;

/** The ways to run a server of the SDK, each with the same {@link Tools}. */
enum Variant {
    /** {@code McpServer.sync}: handlers run on Reactor's elastic threads. */
    SYNC {
        @Override
        void serve(McpStreamableServerTransportProvider provider) {
            sync(provider, false);
        }
    },
    /** {@code McpServer.sync} with {@code immediateExecution}: handlers run on the request's thread. */
    IMMEDIATE {
        @Override
        void serve(McpStreamableServerTransportProvider provider) {
            sync(provider, true);
        }
    },
    /** {@code McpServer.async}. */
    ASYNC {
        @Override
        void serve(McpStreamableServerTransportProvider provider) {
            McpServer.async(provider)
                    .serverInfo(NAME, VERSION)
                    .capabilities(CAPABILITIES)
                    .toolCall(Tools.ECHO, (exchange, request) -> Mono.fromSupplier(() -> Tools.echo(request)))
                    .toolCall(Tools.BYTES, (exchange, request) -> Mono.fromSupplier(() -> Tools.bytes(request)))
                    .toolCall(
                            Tools.REPORT, (exchange, request) -> Tools.report(request, exchange::progressNotification))
                    .toolCall(Tools.NOTIFY, (exchange, request) -> Tools.flood(provider, exchange.sessionId(), request))
                    .toolCall(
                            Tools.PROGRESS, (exchange, request) -> Tools.steps(request, exchange::progressNotification))
                    .build();
        }
    };

    private static final String NAME = "holdfast-benchmarks";
    private static final String VERSION = "1";
    private static final ServerCapabilities CAPABILITIES =
            ServerCapabilities.builder().tools(false).logging().build();

    abstract void serve(McpStreamableServerTransportProvider provider);

    private static void sync(McpStreamableServerTransportProvider provider, boolean immediate) {
        McpServer.sync(provider)
                .serverInfo(NAME, VERSION)
                .capabilities(CAPABILITIES)
                .immediateExecution(immediate)
                .toolCall(Tools.ECHO, (exchange, request) -> Tools.echo(request))
                .toolCall(Tools.BYTES, (exchange, request) -> Tools.bytes(request))
                .toolCall(Tools.REPORT, (exchange, request) -> {
                    int count = Tools.number(request, "count");
                    for (int step = 1; step <= count; step++) {
                        exchange.progressNotification(Tools.progress(request, step));
                    }
                    return Tools.result("sent " + count);
                })
                .toolCall(
                        Tools.NOTIFY,
                        (exchange, request) -> await(Tools.flood(provider, exchange.sessionId(), request)))
                .toolCall(
                        Tools.PROGRESS,
                        (exchange, request) -> await(Tools.steps(
                                request, step -> Mono.fromRunnable(() -> exchange.progressNotification(step)))))
                .build();
    }

    private static CallToolResult await(Mono<CallToolResult> result) {
        return Objects.requireNonNull(result.block());
    }
}
