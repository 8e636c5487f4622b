package dev.holdfast.micrometer;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A value that is asked for again only when it is a tenth of a second old: a scrape reads many meters from one. */
final class Recent<T> implements Supplier<T> {
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Supplier<T> source;
    private final LongSupplier clock;
    private volatile @Nullable Dated<T> last;

    private record Dated<T>(T value, long at) {}

    Recent(Supplier<T> source, LongSupplier clock) {
        this.source = source;
        this.clock = clock;
    }

    @Override
    public T get() {
        Dated<T> known = last;
        long now = clock.getAsLong();
        if (known == null || now - known.at >= FRESH_NANOS) {
            known = new Dated<>(source.get(), now);
            last = known;
        }
        return known.value;
    }
}
