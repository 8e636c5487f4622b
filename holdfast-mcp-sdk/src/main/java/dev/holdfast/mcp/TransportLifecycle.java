package dev.holdfast.mcp;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.McpEndpoint;
import io.modelcontextprotocol.util.KeepAliveScheduler;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import reactor.core.publisher.Mono;

/** What of a transport runs by itself: the engine, the edge's clock, the pings. They begin once, and end in order. */
final class TransportLifecycle {
    private final SessionEngine engine;
    private final McpEndpoint endpoint;
    private final Optional<KeepAliveScheduler> keepAlive;
    private final AtomicBoolean started = new AtomicBoolean();

    TransportLifecycle(SessionEngine engine, McpEndpoint endpoint, Optional<KeepAliveScheduler> keepAlive) {
        this.engine = engine;
        this.endpoint = endpoint;
        this.keepAlive = keepAlive;
    }

    void start() {
        if (started.compareAndSet(false, true)) {
            engine.start();
            endpoint.start();
            keepAlive.ifPresent(KeepAliveScheduler::start);
        }
    }

    /** Ends it without patience for running calls; completes when that is done. */
    Mono<Void> close() {
        return Mono.fromCompletionStage(() -> engine.drain(Duration.ZERO)).then(Mono.fromRunnable(this::stop));
    }

    private void stop() {
        endpoint.stop();
        keepAlive.ifPresent(KeepAliveScheduler::shutdown);
        engine.close();
    }
}
