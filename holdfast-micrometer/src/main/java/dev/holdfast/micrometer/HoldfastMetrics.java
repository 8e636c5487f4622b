package dev.holdfast.micrometer;

import dev.holdfast.CallListener;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.spi.SessionStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The meters of an engine: give {@link #calls} and {@link #sessions} to its builder, or to that of the transport, as listeners, the store
 * that {@link #timed} returns as its store, and {@link #watch} the engine when it is built. {@code docs/metrics.md} names each meter
 * with its unit and its tags. No tag has a value that a client may choose freely: the number of series is bounded.
 *
 * <p>Safe for use by any thread. One for each engine; the registry holds on to it, and to the engine, until it is closed. A registry has
 * one meter of a name and tags: of two engines at once, give each a registry of its own, such as a {@code CompositeMeterRegistry} with a
 * common tag that passes on to the one they share.
 */
public final class HoldfastMetrics implements AutoCloseable {
    private final MeterRegistry registry;
    private final SessionLifecycleListener sessions;
    private final CallListener calls;
    private final Queue<EngineMeters> watched = new ConcurrentLinkedQueue<>();

    /** Meters in a registry. */
    public HoldfastMetrics(MeterRegistry registry) {
        this.registry = Objects.requireNonNull(registry, "registry");
        this.sessions = new Restores(registry);
        this.calls = new CallMeters(registry);
    }

    /** Measures how long sessions take to get a fresh backend. */
    public SessionLifecycleListener sessions() {
        return sessions;
    }

    /** Measures how long requests take until their answers are committed. */
    public CallListener calls() {
        return calls;
    }

    /** The same store; how long it takes for what it is asked to do, and whether it fails, is measured. The caller closes the given one. */
    public SessionStore timed(SessionStore store) {
        return TimedStore.of(store, registry);
    }

    /** Registers what an engine holds and counts. Its stats are read when a meter is, and no more often than ten times a second. */
    public void watch(SessionEngine engine) {
        watched.add(new EngineMeters(registry, engine::stats));
    }

    /**
     * Takes what {@link #watch} has registered out of the registry again, for where that outlives the engine. What was measured stays:
     * timers go on with the next engine.
     */
    @Override
    public void close() {
        for (EngineMeters meters = watched.poll(); meters != null; meters = watched.poll()) {
            meters.remove();
        }
    }

    /** How long sessions take to get a fresh backend. */
    private record Restores(MeterRegistry registry) implements SessionLifecycleListener {
        Restores {
            for (RestoreOutcome outcome : RestoreOutcome.values()) {
                timer(registry, outcome);
            }
        }

        private static Timer timer(MeterRegistry registry, RestoreOutcome outcome) {
            return Timer.builder("holdfast.restores")
                    .description("Attempts to bring a fresh backend to the state of the one before")
                    .tag("outcome", Tags.of(outcome))
                    .serviceLevelObjectives(
                            Duration.ofMillis(10),
                            Duration.ofMillis(100),
                            Duration.ofSeconds(1),
                            Duration.ofSeconds(10),
                            Duration.ofSeconds(30))
                    .register(registry);
        }

        @Override
        public void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
            timer(registry, outcome).record(took);
        }
    }
}
