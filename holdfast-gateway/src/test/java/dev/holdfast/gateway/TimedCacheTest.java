package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class TimedCacheTest {
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE);
    private final AtomicInteger found = new AtomicInteger();
    private final TimedCache<Integer> cache =
            new TimedCache<>(found::incrementAndGet, Duration.ofSeconds(3), Duration.ofSeconds(10), -1, clock::get);

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
    void nobodyWaitsForWhoFindsOut() throws Exception {
        CountDownLatch asked = new CountDownLatch(2);
        CompletableFuture<Void> go = new CompletableFuture<>();
        AtomicLong time = new AtomicLong();
        TimedCache<Integer> slow = new TimedCache<>(
                () -> {
                    asked.countDown();
                    if (asked.getCount() == 0) {
                        Wait.until(go);
                    }
                    return found.incrementAndGet();
                },
                Duration.ofSeconds(3),
                Duration.ofSeconds(10),
                -1,
                time::get);
        time.addAndGet(Duration.ofSeconds(4).toNanos());
        CompletableFuture<Integer> finding = CompletableFuture.supplyAsync(slow);
        asked.await();
        assertThat(finding).isNotDone();
        time.addAndGet(Duration.ofSeconds(10).toNanos());
        int before = slow.get();
        assertThat(before).isPositive();
        time.incrementAndGet();
        assertThat(slow.get()).as("it takes too long").isEqualTo(-1);
        go.complete(null);
        assertThat(Wait.until(finding)).isEqualTo(before + 1);
    }
}
