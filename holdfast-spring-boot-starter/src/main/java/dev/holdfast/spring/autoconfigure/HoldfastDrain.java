package dev.holdfast.spring.autoconfigure;

import dev.holdfast.engine.SessionEngine;
import java.time.Duration;
import org.springframework.context.SmartLifecycle;

/**
 * Lets running calls finish and ends every stream in order before the web server stops, which waits for open streams otherwise. A
 * drained engine does not come back: the transport is not paused between tests, and a context that was stopped is not started again.
 */
final class HoldfastDrain implements SmartLifecycle {
    /** Before the web server's graceful shutdown, which is 1,024 below. */
    static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 512;

    private final SessionEngine engine;
    private final Duration timeout;
    private volatile boolean running;

    HoldfastDrain(SessionEngine engine, Duration timeout) {
        this.engine = engine;
        this.timeout = timeout;
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop(Runnable done) {
        running = false;
        engine.drain(timeout).whenComplete((nothing, failure) -> done.run());
    }

    @Override
    public void stop() {
        running = false;
        engine.drain(timeout).toCompletableFuture().join();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public boolean isPauseable() {
        return false;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
