package dev.holdfast.engine;

import dev.holdfast.ByteBudget;
import dev.holdfast.CallListener;
import dev.holdfast.NoStore;
import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.SessionStore;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Every knob of a {@link SessionEngine}. */
public final class SessionEngineBuilder {
    final Backend backend;
    final MessageFactory messages;
    SessionStore store = new NoStore();
    SessionLimits limits = SessionLimits.DEFAULT;
    NodeLimits nodeLimits = NodeLimits.DEFAULT;
    ByteBudget budget = ByteBudget.ofHeap();
    EngineGroup group = EngineGroup.NONE;
    String serverName = "";
    SessionLifecycleListener listener = SessionLifecycleListener.NONE;
    CallListener calls = CallListener.NONE;
    LongSupplier clock = System::nanoTime;
    InstantSource wallClock = InstantSource.system();
    RandomGenerator random = new SecureRandom();
    Duration sweepInterval = Duration.ofMillis(500);
    Duration parkAfter = Duration.ofMinutes(10);
    String nodeName = "node";
    Duration lease = Duration.ofSeconds(3);
    Executor executor = SessionEngineBuilder::onThreadOfItsOwn;
    private @Nullable ScheduledExecutorService scheduler;

    SessionEngineBuilder(Backend backend, MessageFactory messages) {
        this.backend = Objects.requireNonNull(backend, "backend");
        this.messages = Objects.requireNonNull(messages, "messages");
    }

    /** What keeps sessions beyond the memory of the engine. Default: {@link NoStore nothing}. The engine does not close it. */
    public SessionEngineBuilder store(SessionStore value) {
        store = Objects.requireNonNull(value, "store");
        return this;
    }

    /** How much a session may hold. Default: {@link SessionLimits#DEFAULT}. */
    public SessionEngineBuilder limits(SessionLimits value) {
        limits = Objects.requireNonNull(value, "limits");
        return this;
    }

    /** How much all sessions together may hold. Default: {@link NodeLimits#DEFAULT}. */
    public SessionEngineBuilder nodeLimits(NodeLimits value) {
        nodeLimits = Objects.requireNonNull(value, "nodeLimits");
        return this;
    }

    /**
     * What messages may take together: histories, requests, and what a backend holds that has the same budget. Default: a
     * {@linkplain ByteBudget#ofHeap part of the heap}.
     */
    public SessionEngineBuilder budget(ByteBudget value) {
        budget = Objects.requireNonNull(value, "budget");
        return this;
    }

    /** The other engines of this process, with which it shares what the machine has. Default: there are none. */
    public SessionEngineBuilder group(EngineGroup value) {
        group = Objects.requireNonNull(value, "group");
        return this;
    }

    /** What the lines of the access log call the server, where a process has others. Default empty: nothing. */
    public SessionEngineBuilder serverName(String value) {
        serverName = Objects.requireNonNull(value, "serverName");
        return this;
    }

    /** Who hears of sessions. Default: nobody. */
    public SessionEngineBuilder listener(SessionLifecycleListener value) {
        listener = Objects.requireNonNull(value, "listener");
        return this;
    }

    /** Who hears of calls. Default: nobody. */
    public SessionEngineBuilder callListener(CallListener value) {
        calls = Objects.requireNonNull(value, "callListener");
        return this;
    }

    /** A monotonic clock in nanoseconds, read by any thread. Default: {@link System#nanoTime}. */
    public SessionEngineBuilder clock(LongSupplier value) {
        clock = Objects.requireNonNull(value, "clock");
        return this;
    }

    /** What the store's records are dated by. */
    InstantSource storeClock() {
        return store.clock().orElse(wallClock);
    }

    /**
     * The wall clock, by which the store's records are dated, unless it has a {@linkplain SessionStore#clock
     * clock of its own}; deadlines follow {@link #clock}. Where it goes ahead of that one,
     * the machine was asleep, and sessions wait anew for their clients. Default: that of the system.
     */
    public SessionEngineBuilder wallClock(InstantSource value) {
        wallClock = Objects.requireNonNull(value, "wallClock");
        return this;
    }

    /**
     * Where session ids and nonces come from: unpredictable outside of tests, and safe for use by any thread. Default: a {@link
     * SecureRandom}.
     */
    public SessionEngineBuilder random(RandomGenerator value) {
        random = Objects.requireNonNull(value, "random");
        return this;
    }

    /**
     * Where timed work runs; one thread is enough, for its tasks do not block. The engine does not shut it down. Default: one daemon
     * thread of the engine's own.
     */
    public SessionEngineBuilder scheduler(ScheduledExecutorService value) {
        scheduler = Objects.requireNonNull(value, "scheduler");
        return this;
    }

    /**
     * Where backends are opened for sessions that come back from the store or have waited for a place, where calls are run again, and
     * where the backend gets what other nodes hand over. It may be blocked there for as long as a backend likes. Default: a daemon
     * thread for each task.
     */
    public SessionEngineBuilder executor(Executor value) {
        executor = Objects.requireNonNull(value, "executor");
        return this;
    }

    private static void onThreadOfItsOwn(Runnable task) {
        Thread thread = new Thread(task, "holdfast-return");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * How often ended sessions are cleaned away, 1 ms to 1 hour. A session whose deadline has passed is not found whether it
     * was cleaned away or not. Default 500 ms.
     */
    public SessionEngineBuilder sweepInterval(Duration value) {
        if (isOutside(value, Duration.ofMillis(1), Duration.ofHours(1))) {
            throw new IllegalArgumentException("sweepInterval must be 1 ms to 1 hour, got " + value);
        }
        sweepInterval = value;
        return this;
    }

    /**
     * How long a session whose last connection broke stays in memory, 10 seconds to 365 days; where nodes share the store, also one
     * whose last connection ended in order. Then it waits in the store, and its backend is closed: what that kept beyond the session's
     * journal is lost. Only where the store outlives this process. Default 10 minutes.
     */
    public SessionEngineBuilder parkAfter(Duration value) {
        if (isOutside(value, Duration.ofSeconds(10), Duration.ofDays(365))) {
            throw new IllegalArgumentException("parkAfter must be 10 seconds to 365 days, got " + value);
        }
        parkAfter = value;
        return this;
    }

    /**
     * The name of this node among those that share the store, for people who read logs: it need not
     * be unique. At most 64 letters, digits, dots, dashes and underscores. Default {@code node}.
     */
    public SessionEngineBuilder nodeName(String value) {
        if (!value.matches("[A-Za-z0-9._-]{1,64}")) {
            throw new IllegalArgumentException(
                    "nodeName must be 1 to 64 letters, digits, dots, dashes and underscores, got " + value);
        }
        nodeName = value;
        return this;
    }

    /**
     * How long other nodes that share the store wait for this one when it is silent, 500 ms to 5 minutes: then what it ran is ended by
     * them, or run again. It must be longer than the store may take to answer. A node that has not reached the store for so long gives
     * up its sessions until it has, and its clients come back to other nodes. Default 3 s.
     */
    public SessionEngineBuilder lease(Duration value) {
        if (isOutside(value, Duration.ofMillis(500), Duration.ofMinutes(5))) {
            throw new IllegalArgumentException("lease must be 500 ms to 5 minutes, got " + value);
        }
        lease = value;
        return this;
    }

    private static boolean isOutside(Duration value, Duration least, Duration most) {
        return value.compareTo(least) < 0 || value.compareTo(most) > 0;
    }

    /**
     * Builds the engine; {@link SessionEngine#start} makes it watch the time.
     *
     * @throws IllegalArgumentException if the {@link #lease} is not longer than a store that nodes share may take to answer
     */
    public SessionEngine build() {
        return new SessionEngine(this);
    }

    /** A scheduler, and how to let go of it. */
    record Scheduling(ScheduledExecutorService scheduler, Runnable release) {}

    Scheduling scheduling() {
        if (scheduler != null) {
            return new Scheduling(scheduler, () -> {});
        }
        ScheduledThreadPoolExecutor own = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "holdfast-clock");
            thread.setDaemon(true);
            return thread;
        });
        own.setRemoveOnCancelPolicy(true);
        return new Scheduling(own, own::shutdownNow);
    }
}
