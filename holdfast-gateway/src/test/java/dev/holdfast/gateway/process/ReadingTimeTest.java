package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.Wait;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The time of a reader that is held back now and then. */
@Timeout(60)
class ReadingTimeTest {
    private final AtomicLong now = new AtomicLong(1_000);
    private final ReadingTime time = new ReadingTime(now::get);
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    @AfterEach
    void stop() {
        timer.shutdownNow();
    }

    @Test
    void itStandsStillWhileTheReaderIsHeldBack() {
        now.addAndGet(5);
        time.standsDuring(() -> {
            now.addAndGet(100);
            assertThat(time.nanos()).isEqualTo(5);
        });
        now.addAndGet(2);

        assertThat(time.nanos()).isEqualTo(7);
    }

    @Test
    void whatIsDueIsDoneThoughTheReaderIsHeldBackAgainAndAgain() {
        CountDownLatch done = new CountDownLatch(1);
        time.after(Duration.ofSeconds(3), done::countDown, timer, Runnable::run);

        for (int i = 0; i < 3; i++) {
            assertThat(done.getCount()).isOne();
            time.standsDuring(() -> now.addAndGet(Duration.ofHours(1).toNanos()));
            now.addAndGet(Duration.ofSeconds(1).toNanos());
        }

        Wait.until(done);
    }
}
