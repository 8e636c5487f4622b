package dev.holdfast.engine;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A clock that only the test moves, and a scheduler that follows it, on the thread of the test. The clock overflows a few
 * seconds after its start: only differences mean something.
 */
final class VirtualTime extends AbstractExecutorService
        implements ScheduledExecutorService, LongSupplier, InstantSource {
    private static final long START = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(5);

    private final PriorityQueue<Task<?>> tasks = new PriorityQueue<>();
    private long now = START;
    private Duration ahead = Duration.ZERO;
    private long sequence;
    private boolean shutdown;
    private Runnable meanwhile = () -> {};

    /** Lets something happen just before somebody looks at the monotonic clock next. */
    void atNextLook(Runnable what) {
        meanwhile = what;
    }

    @Override
    public long getAsLong() {
        Runnable first = meanwhile;
        meanwhile = () -> {};
        first.run();
        return now;
    }

    /** The same time on the wall, unless that clock was set. */
    @Override
    public Instant instant() {
        return Instant.EPOCH.plusNanos(now - START).plus(ahead);
    }

    /** Sets the wall clock forward, or back, as where a machine sleeps; the monotonic clock does not notice. */
    void setForward(Duration step) {
        ahead = ahead.plus(step);
    }

    /** Lets time pass while nobody works, as where the process is stopped: what falls due is late. */
    void freeze(Duration duration) {
        now += duration.toNanos();
    }

    /** Lets time pass, and everything happen that falls due in it, in order. */
    void advance(Duration duration) {
        long target = now + duration.toNanos();
        for (Task<?> next = tasks.peek(); next != null && next.at - target <= 0; next = tasks.peek()) {
            tasks.remove(next);
            now = next.at - now > 0 ? next.at : now;
            next.runNow();
        }
        now = target;
    }

    /** How many tasks wait, periodic ones too. */
    int waiting() {
        tasks.removeIf(FutureTask::isCancelled);
        return tasks.size();
    }

    private final class Task<V> extends FutureTask<V> implements ScheduledFuture<V> {
        private final long period;
        private final long order = sequence++;
        private long at;

        Task(Callable<V> work, long delay, long period) {
            super(work);
            this.at = now + Math.max(0, delay);
            this.period = period;
        }

        void runNow() {
            if (period == 0) {
                run();
            } else if (runAndReset()) {
                at = now + period;
                tasks.add(this);
            }
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(at - now, TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            Task<?> task = (Task<?>) other;
            return at == task.at ? Long.compare(order, task.order) : Long.signum(at - task.at);
        }
    }

    private <V> ScheduledFuture<V> add(Task<V> task) {
        tasks.add(task);
        return task;
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
        return add(new Task<>(Executors.callable(command), unit.toNanos(delay), 0));
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> callable, long delay, TimeUnit unit) {
        return add(new Task<>(callable, unit.toNanos(delay), 0));
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable command, long first, long period, TimeUnit unit) {
        return scheduleWithFixedDelay(command, first, period, unit);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long first, long period, TimeUnit unit) {
        return add(new Task<>(Executors.callable(command), unit.toNanos(first), unit.toNanos(period)));
    }

    @Override
    public void execute(Runnable command) {
        add(new Task<>(Executors.callable(command), 0, 0));
    }

    @Override
    public void shutdown() {
        shutdown = true;
    }

    @Override
    public List<Runnable> shutdownNow() {
        shutdown = true;
        List<Runnable> never = new ArrayList<>(tasks);
        tasks.clear();
        return never;
    }

    @Override
    public boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        return shutdown && tasks.isEmpty();
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return isTerminated();
    }
}
