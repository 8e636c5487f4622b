package dev.holdfast;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts what happens to an engine. Safe for use by any thread. */
final class Counts {
    private static final Logger logger = LoggerFactory.getLogger(Counts.class);
    /** How often a refusal of the same kind is worth a line in the log: whoever can send requests must not fill a disk. */
    private static final long QUIET_NANOS = 10_000_000_000L;

    private final LongSupplier clock;
    final LongAdder created = new LongAdder();
    final LongAdder gaps = new LongAdder();
    final LongAdder dropped = new LongAdder();
    final LongAdder timedOut = new LongAdder();
    private final Map<EndReason, LongAdder> ended = new EnumMap<>(EndReason.class);
    private final Map<Refusal, Refused> refused = new EnumMap<>(Refusal.class);

    /** How often something was refused, and how much of that the log has told. */
    private static final class Refused {
        private final LongAdder count = new LongAdder();
        private final AtomicLong toldAt;
        private volatile long told;

        private Refused(long longAgo) {
            this.toldAt = new AtomicLong(longAgo);
        }
    }

    Counts(LongSupplier clock) {
        this.clock = clock;
        long longAgo = clock.getAsLong() - QUIET_NANOS;
        for (EndReason reason : EndReason.values()) {
            ended.put(reason, new LongAdder());
        }
        for (Refusal reason : Refusal.values()) {
            refused.put(reason, new Refused(longAgo));
        }
    }

    void ended(EndReason reason) {
        ended.getOrDefault(reason, new LongAdder()).increment();
    }

    /** Counts a refusal; the first of its kind in a while gets a line in the log. */
    void refused(Refusal reason, String detail) {
        Refused all = refused.getOrDefault(reason, new Refused(0));
        all.count.increment();
        long now = clock.getAsLong();
        long last = all.toldAt.get();
        if (now - last >= QUIET_NANOS && all.toldAt.compareAndSet(last, now)) {
            long sum = all.count.sum();
            long more = sum - all.told - 1;
            all.told = sum;
            logger.info(
                    "refused: {} ({}){}{}",
                    detail.isEmpty() ? reason.text() : detail,
                    reason.code(),
                    more > 0 ? ", and before that another " + more : "",
                    more > 0 ? " for this reason" : "");
        }
    }

    Map<EndReason, Long> ended() {
        Map<EndReason, Long> sums = new EnumMap<>(EndReason.class);
        ended.forEach((reason, count) -> sums.put(reason, count.sum()));
        return sums;
    }

    Map<Refusal, Long> refused() {
        Map<Refusal, Long> sums = new EnumMap<>(Refusal.class);
        refused.forEach((reason, all) -> sums.put(reason, all.count.sum()));
        return sums;
    }
}
