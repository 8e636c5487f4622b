package dev.holdfast.it;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.upstream.UpstreamBackend;
import dev.holdfast.gateway.upstream.UpstreamClient;
import dev.holdfast.gateway.upstream.UpstreamOptions;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.McpServlet;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** What {@code holdfast serve --upstream} serves, in a container of a test. */
final class UpstreamFront implements AutoCloseable {
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final UpstreamClient client;
    private final Container container;
    private final SessionEngine engine;

    /** Stands in front of the server at this URL. */
    UpstreamFront(ContainerKind kind, URI url) {
        this(kind, url, EdgeOptions.builder().build());
    }

    UpstreamFront(ContainerKind kind, URI url, EdgeOptions edge) {
        UpstreamOptions options = new UpstreamOptions(url, List.of(), Duration.ofSeconds(20));
        client = UpstreamClient.start(url, clock);
        engine = SessionEngine.builder(new UpstreamBackend(options, clock, client), JsonRpc.MESSAGES)
                .scheduler(clock)
                .build()
                .start();
        container = kind.create(40, Duration.ofSeconds(20));
        try {
            container.start(new McpServlet(engine, edge), List.of());
        } catch (Exception e) {
            throw new IllegalStateException("the container did not start", e);
        }
    }

    int port() {
        return container.port();
    }

    @Override
    public void close() throws Exception {
        engine.close();
        container.stop();
        client.close();
        clock.shutdownNow();
    }
}
