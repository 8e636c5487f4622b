package dev.holdfast.gateway;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A value that is expensive to compute, and may be some seconds old. A thread of its own computes it, for which whoever asks first waits a
 * moment. Others, and that one then, get the value before, or another one while the computation takes too long, as when a disk hangs.
 * Thread-safe.
 */
final class TimedCache<T> implements Supplier<T> {
    private static final long MOMENT_MILLIS = 200;

    private final Supplier<T> source;
    private final Executor threads;
    private final long nanos;
    private final long timeout;
    private final T late;
    private final LongSupplier clock;
    /** When the running computation began; null if none runs. */
    private final AtomicReference<@Nullable Long> begun = new AtomicReference<>();

    private volatile Found<T> last;

    private record Found<T>(T value, long at) {}

    /**
     * Computes the first value.
     *
     * @param threads where it is computed again
     * @param age how old a value may be
     * @param timeout how long a computation may take
     * @param late the value while one takes longer
     * @param clock monotonic, in nanoseconds
     */
    TimedCache(Supplier<T> source, Executor threads, Duration age, Duration timeout, T late, LongSupplier clock) {
        this.source = source;
        this.threads = threads;
        this.nanos = age.toNanos();
        this.timeout = timeout.toNanos();
        this.late = late;
        this.clock = clock;
        this.last = new Found<>(source.get(), clock.getAsLong());
    }

    @Override
    public T get() {
        long now = clock.getAsLong();
        if (now - last.at <= nanos) {
            return last.value;
        }
        if (begun.compareAndSet(null, now)) {
            try {
                CompletableFuture.runAsync(() -> compute(now), threads)
                        .completeOnTimeout(null, MOMENT_MILLIS, TimeUnit.MILLISECONDS)
                        .join();
            } catch (RuntimeException | Error e) {
                // there may be no thread for it
                begun.set(null);
                throw e;
            }
        }
        Long since = begun.get();
        return since != null && now - since > timeout ? late : last.value;
    }

    private void compute(long now) {
        try {
            last = new Found<>(source.get(), now);
        } finally {
            begun.set(null);
        }
    }
}
