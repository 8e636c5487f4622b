package dev.holdfast.gateway;

import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** What is dear to find out, and may be some seconds old when it is told. Thread-safe; of those who ask at once, one finds out. */
final class Lately<T> implements Supplier<T> {
    private final Supplier<T> source;
    private final long nanos;
    private final LongSupplier clock;
    private T value;
    private long at;

    /**
     * Finds out for the first time.
     *
     * @param age how old an answer may be
     * @param clock monotonic, in nanoseconds
     */
    Lately(Supplier<T> source, Duration age, LongSupplier clock) {
        this.source = source;
        this.nanos = age.toNanos();
        this.clock = clock;
        this.at = clock.getAsLong();
        this.value = source.get();
    }

    @Override
    public synchronized T get() {
        long now = clock.getAsLong();
        if (now - at > nanos) {
            value = source.get();
            at = now;
        }
        return value;
    }
}
