package dev.holdfast.spring.autoconfigure;

import dev.holdfast.engine.SessionEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.springframework.context.SmartLifecycle;

/**
 * Lets running calls finish and ends every stream in order before the web server stops, which waits for open streams otherwise. A
 * drained engine does not come back: the transport is not paused between tests, and a context that was stopped is not started again.
 */
final class HoldfastDrain implements SmartLifecycle {
    /** Before the web server's graceful shutdown, which is 1,024 below. */
    static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 512;

    private final List<SessionEngine> engines;
    private final Duration timeout;
    private volatile boolean running;

    HoldfastDrain(List<SessionEngine> engines, Duration timeout) {
        this.engines = engines;
        this.timeout = timeout;
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop(Runnable done) {
        running = false;
        drain().whenComplete((nothing, failure) -> done.run());
    }

    @Override
    public void stop() {
        running = false;
        drain().join();
    }

    private CompletableFuture<Void> drain() {
        return CompletableFuture.allOf(engines.stream()
                .map(engine -> engine.drain(timeout).toCompletableFuture())
                .toArray(CompletableFuture[]::new));
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    /** Overrides what Spring Framework 7 asks; 6 does not ask. */
    @SuppressWarnings("MissingOverride")
    public boolean isPauseable() {
        return false;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
