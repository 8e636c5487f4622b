package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The pauses between attempts that fail. */
class BackoffTest {
    private final AtomicLong millis = new AtomicLong();
    private final ReopeningDatabase.Backoff backoff =
            new ReopeningDatabase.Backoff(() -> Long.MAX_VALUE + TimeUnit.MILLISECONDS.toNanos(millis.get()));

    private long pause() {
        long begun = millis.get();
        while (backoff.waits()) {
            millis.addAndGet(50);
        }
        return millis.get() - begun;
    }

    @Test
    void eachFailureDoublesThePauseUpToTenSeconds() {
        assertThat(backoff.waits()).isFalse();
        for (long expected : new long[] {250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000}) {
            backoff.attempted(false);
            assertThat(pause()).isEqualTo(expected);
        }
    }

    @Test
    void aSuccessEndsThePauses() {
        backoff.attempted(false);
        backoff.attempted(false);
        backoff.attempted(true);
        assertThat(backoff.waits()).isFalse();
        backoff.attempted(false);
        assertThat(pause()).isEqualTo(250);
    }
}
