package dev.holdfast.engine;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A scheduler of one process: what it was given is not done once the process is dead, and late while it is frozen. */
final class MortalScheduler extends AbstractExecutorService implements ScheduledExecutorService {
    private static final long THAW_MILLIS = 10;

    private final ScheduledExecutorService time;
    private final BooleanSupplier dead;
    private final BooleanSupplier frozen;

    MortalScheduler(ScheduledExecutorService time, BooleanSupplier dead, BooleanSupplier frozen) {
        this.time = time;
        this.dead = dead;
        this.frozen = frozen;
    }

    private Runnable whileAlive(Runnable task) {
        return () -> {
            if (frozen.getAsBoolean()) {
                time.schedule(whileAlive(task), THAW_MILLIS, TimeUnit.MILLISECONDS);
            } else if (!dead.getAsBoolean()) {
                task.run();
            }
        };
    }

    private Runnable eachTime(Runnable task) {
        return () -> {
            if (!dead.getAsBoolean() && !frozen.getAsBoolean()) {
                task.run();
            }
        };
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
        return time.schedule(whileAlive(command), delay, unit);
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> callable, long delay, TimeUnit unit) {
        return time.schedule(callable, delay, unit);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable command, long first, long period, TimeUnit unit) {
        return time.scheduleAtFixedRate(eachTime(command), first, period, unit);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long first, long period, TimeUnit unit) {
        return time.scheduleWithFixedDelay(eachTime(command), first, period, unit);
    }

    @Override
    public void execute(Runnable command) {
        time.execute(whileAlive(command));
    }

    @Override
    public void shutdown() {}

    @Override
    public List<Runnable> shutdownNow() {
        return List.of();
    }

    @Override
    public boolean isShutdown() {
        return false;
    }

    @Override
    public boolean isTerminated() {
        return false;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return true;
    }
}
