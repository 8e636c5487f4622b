package dev.holdfast.redis;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Logs that something is wrong for a while, every ten seconds at most, and that it is over, if its beginning was logged. */
final class OutageLog {
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final AtomicLong quietUntil = new AtomicLong(System.nanoTime());
    private final AtomicBoolean told = new AtomicBoolean();

    /** It is wrong, perhaps since long ago: one master of a cluster may fail while others answer. */
    void begun(Runnable line) {
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

    void over(Runnable line) {
        if (told.getAndSet(false)) {
            line.run();
        }
    }
}
