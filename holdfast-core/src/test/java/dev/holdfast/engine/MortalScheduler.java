package dev.holdfast.engine;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A scheduler of one process: what it was given is not done once the process is dead. */
final class MortalScheduler extends AbstractExecutorService implements ScheduledExecutorService {
    private final ScheduledExecutorService time;
    private final BooleanSupplier dead;

    MortalScheduler(ScheduledExecutorService time, BooleanSupplier dead) {
        this.time = time;
        this.dead = dead;
    }

    private Runnable whileAlive(Runnable task) {
        return () -> {
            if (!dead.getAsBoolean()) {
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
        return time.scheduleAtFixedRate(whileAlive(command), first, period, unit);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long first, long period, TimeUnit unit) {
        return time.scheduleWithFixedDelay(whileAlive(command), first, period, unit);
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
