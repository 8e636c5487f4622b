package dev.holdfast.it;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.McpServlet;
import dev.holdfast.upstream.UpstreamBackend;
import dev.holdfast.upstream.UpstreamHttp;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** An application that serves what another server does over HTTP, in a container of a test. */
final class UpstreamFront implements AutoCloseable {
    /** What the error says that ends a call whose fate is unknown. */
    static final String FATE_UNKNOWN = "it is not known whether the upstream has executed the request";

    private final UpstreamBackend backend;
    private final Container container;
    private final SessionEngine engine;

    /** Stands in front of the server at this URL as {@code holdfast serve --upstream} does. */
    UpstreamFront(ContainerKind kind, URI url) {
        this(kind, url, EdgeOptions.builder().build());
    }

    UpstreamFront(ContainerKind kind, URI url, EdgeOptions edge) {
        this(kind, UpstreamBackend.builder(url).http(UpstreamHttp.jetty()).open(), edge);
    }

    /** Serves a backend, which ends with it. */
    UpstreamFront(ContainerKind kind, UpstreamBackend backend, EdgeOptions edge) {
        this.backend = backend;
        engine = SessionEngine.builder(backend, JsonRpc.MESSAGES).build().start();
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
        backend.close();
    }
}
