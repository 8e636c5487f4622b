package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.gateway.process.DaemonThreads;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class TimedCacheTest {
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE);
    private final AtomicInteger found = new AtomicInteger();
    private final TimedCache<Integer> cache = new TimedCache<>(
            found::incrementAndGet, Runnable::run, Duration.ofSeconds(3), Duration.ofSeconds(10), -1, clock::get);

    @Test
    void anAnswerIsGivenAgainUntilItIsTooOld() {
        assertThat(cache.get()).isEqualTo(1);
        clock.addAndGet(Duration.ofSeconds(3).toNanos());
        assertThat(cache.get()).isEqualTo(1);
        clock.incrementAndGet();
        assertThat(cache.get()).isEqualTo(2);
        assertThat(cache.get()).isEqualTo(2);
    }

    @Test
    void nobodyWaitsLongForWhatHangs() {
        AtomicBoolean hangs = new AtomicBoolean();
        CompletableFuture<Void> go = new CompletableFuture<>();
        AtomicLong time = new AtomicLong();
        TimedCache<Integer> slow = new TimedCache<>(
                () -> {
                    if (hangs.get()) {
                        Wait.until(go);
                    }
                    return found.incrementAndGet();
                },
                DaemonThreads.starting("slow"),
                Duration.ofSeconds(3),
                Duration.ofSeconds(10),
                -1,
                time::get);
        int before = slow.get();
        hangs.set(true);
        time.addAndGet(Duration.ofSeconds(4).toNanos());
        for (int i = 0; i < 3; i++) {
            assertThat(Wait.until(CompletableFuture.supplyAsync(slow))).isEqualTo(before);
        }
        time.addAndGet(Duration.ofSeconds(10).toNanos());
        assertThat(slow.get()).isEqualTo(before);
        time.incrementAndGet();
        assertThat(slow.get()).as("it takes too long").isEqualTo(-1);
        hangs.set(false);
        go.complete(null);
        Wait.until("it is there again", () -> slow.get() > before);
        assertThat(found.get()).as("one looks at a time").isLessThanOrEqualTo(before + 2);
    }

    @Test
    void whatCannotBeComputedIsTriedAgain() {
        AtomicBoolean fails = new AtomicBoolean();
        TimedCache<Integer> failing = new TimedCache<>(
                found::incrementAndGet,
                task -> {
                    if (fails.get()) {
                        throw new IllegalStateException("no thread");
                    }
                    task.run();
                },
                Duration.ofSeconds(3),
                Duration.ofSeconds(10),
                -1,
                clock::get);
        int before = failing.get();
        fails.set(true);
        clock.addAndGet(Duration.ofSeconds(4).toNanos());
        assertThatThrownBy(failing::get).hasMessage("no thread");
        fails.set(false);
        assertThat(failing.get()).isEqualTo(before + 1);
    }
}
