package dev.holdfast.gateway;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is dear to find out, and may be some seconds old when it is told. Thread-safe; of those who ask at once one finds out,
 * and the others are told what was found out before. To find out may take as long as a disk that hangs: when it has taken too
 * long, they are told so.
 */
final class TimedCache<T> implements Supplier<T> {
    private final Supplier<T> source;
    private final long nanos;
    private final long patience;
    private final T late;
    private final LongSupplier clock;
    /** When the running computation began; null if none runs. */
    private final AtomicReference<@Nullable Long> begun = new AtomicReference<>();

    private volatile Found<T> last;

    private record Found<T>(T value, long at) {}

    /**
     * Finds out for the first time.
     *
     * @param age how old an answer may be
     * @param patience how long it may take to find out
     * @param late the answer while it takes longer
     * @param clock monotonic, in nanoseconds
     */
    TimedCache(Supplier<T> source, Duration age, Duration patience, T late, LongSupplier clock) {
        this.source = source;
        this.nanos = age.toNanos();
        this.patience = patience.toNanos();
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
                last = new Found<>(source.get(), now);
            } finally {
                begun.set(null);
            }
        }
        Long since = begun.get();
        return since != null && now - since > patience ? late : last.value;
    }
}
