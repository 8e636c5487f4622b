package dev.holdfast.gateway;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * What is dear to find out, and may be some seconds old when it is told. Thread-safe; of those who ask at once one finds out,
 * and the others are told what was found out before: to find out may take as long as a disk that hangs.
 */
final class Lately<T> implements Supplier<T> {
    private final Supplier<T> source;
    private final long nanos;
    private final LongSupplier clock;
    private final ReentrantLock finding = new ReentrantLock();
    private volatile Found<T> last;

    private record Found<T>(T value, long at) {}

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
        this.last = new Found<>(source.get(), clock.getAsLong());
    }

    @Override
    public T get() {
        long now = clock.getAsLong();
        if (now - last.at > nanos && finding.tryLock()) {
            try {
                last = new Found<>(source.get(), now);
            } finally {
                finding.unlock();
            }
        }
        return last.value;
    }
}
