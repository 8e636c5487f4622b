package dev.holdfast.redis;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Something that is wrong for a while, for the log: it is told at times only, and what was told is told to be over. */
final class Complaint {
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final AtomicLong quietUntil = new AtomicLong(System.nanoTime());
    private final AtomicBoolean told = new AtomicBoolean();

    /** It is wrong, be it since long ago: one master of a cluster may fail while others answer. */
    void tell(Runnable line) {
        if (told.get()) {
            return;
        }
        long now = System.nanoTime();
        long until = quietUntil.get();
        if (now - until >= 0 && quietUntil.compareAndSet(until, now + QUIET_NANOS)) {
            told.set(true);
            line.run();
        }
    }

    /** It is over. */
    void over(Runnable line) {
        if (told.getAndSet(false)) {
            line.run();
        }
    }
}
