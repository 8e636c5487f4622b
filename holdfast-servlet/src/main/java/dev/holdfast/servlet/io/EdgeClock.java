package dev.holdfast.servlet.io;

import dev.holdfast.LogThrottle;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the time to all that is open at the edge. Every 20 ms one task looks at each member of each group: that costs a few nanoseconds,
 * where a timer for each connection and each body would cost more.
 */
public final class EdgeClock {
    private static final Logger log = LoggerFactory.getLogger(EdgeClock.class);
    private static final long TICK_MILLIS = 20;

    private final List<Set<? extends Ticking>> groups = new CopyOnWriteArrayList<>();
    private final AtomicReference<@Nullable ScheduledFuture<?>> task = new AtomicReference<>();
    private final LongSupplier clock;
    private final ScheduledExecutorService scheduler;
    private final LogThrottle failures = new LogThrottle(1, System::nanoTime);

    /** Something that changes with time. */
    public interface Ticking {
        /** Looks at the time, on the thread of the clock: must not block. */
        void tick(long now);
    }

    /** A clock that does not tick yet. */
    public EdgeClock(LongSupplier clock, ScheduledExecutorService scheduler) {
        this.clock = clock;
        this.scheduler = scheduler;
    }

    /** Begins to tick. */
    public void start() {
        task.set(scheduler.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS));
    }

    /** Ticks no more. */
    public void stop() {
        ScheduledFuture<?> running = task.getAndSet(null);
        if (running != null) {
            running.cancel(false);
        }
    }

    /** Returns a set for any thread to change; whatever is in it is told the time. */
    public <T extends Ticking> Set<T> group() {
        Set<T> group = ConcurrentHashMap.newKeySet();
        groups.add(group);
        return group;
    }

    /** The time in nanoseconds, of the engine's clock. */
    public long now() {
        return clock.getAsLong();
    }

    /** Runs a task later, on the scheduler's thread: it must not block. */
    public void later(Runnable task, long millis) {
        Future<?> unused = scheduler.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    /** A scheduler drops a periodic task that fails once; a failure of one member must not stop the time of the others. */
    private void tick() {
        guarded(() -> {
            long now = now();
            groups.forEach(group -> group.forEach(member -> guarded(() -> member.tick(now))));
        });
    }

    /** Runs something whose failure is logged only: it may come again at each tick, for each member. */
    private void guarded(Runnable look) {
        try {
            look.run();
        } catch (Throwable e) {
            failures.write(more -> log.error("something failed on the clock of the connections{}", more, e));
        }
    }
}
