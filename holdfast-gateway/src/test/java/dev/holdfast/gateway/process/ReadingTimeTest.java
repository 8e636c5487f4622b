package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The time of a reader that is held back now and then. */
class ReadingTimeTest {
    private final AtomicLong now = new AtomicLong(1_000);
    private final ReadingTime time = new ReadingTime(now::get);
    private final HandTurned timer = new HandTurned();

    /** A timer whose only task is run by the test. */
    private static final class HandTurned extends ScheduledThreadPoolExecutor {
        private Optional<Runnable> task = Optional.empty();
        private Duration delay = Duration.ZERO;

        HandTurned() {
            super(1);
        }

        @Override
        public ScheduledFuture<?> schedule(Runnable command, long after, TimeUnit unit) {
            task = Optional.of(command);
            delay = Duration.ofNanos(unit.toNanos(after));
            return super.schedule(() -> {}, 0, TimeUnit.SECONDS);
        }

        void look() {
            Runnable due = task.orElseThrow();
            task = Optional.empty();
            due.run();
        }
    }

    @AfterEach
    void stop() {
        timer.shutdownNow();
    }

    @Test
    void itStandsStillWhileTheReaderIsHeldBack() {
        now.addAndGet(5);
        time.pauseDuring(() -> {
            now.addAndGet(100);
            assertThat(time.nanos()).isEqualTo(5);
        });
        now.addAndGet(2);

        assertThat(time.nanos()).isEqualTo(7);
    }

    @Test
    void whatIsDueIsDoneWhenTheReaderHasReadForSoLong() {
        List<String> done = new ArrayList<>();
        time.after(Duration.ofSeconds(3), () -> done.add("done"), timer, Runnable::run);
        assertThat(timer.delay).isEqualTo(Duration.ofSeconds(3));

        now.addAndGet(Duration.ofSeconds(1).toNanos());
        time.pauseDuring(() -> {
            now.addAndGet(Duration.ofHours(1).toNanos());
            timer.look();
        });
        assertThat(done).isEmpty();
        assertThat(timer.delay).isEqualTo(Duration.ofSeconds(2));

        now.addAndGet(Duration.ofMillis(1_990).toNanos());
        timer.look();
        assertThat(done).isEmpty();
        assertThat(timer.delay).as("not at every moment").isEqualTo(Duration.ofMillis(50));

        now.addAndGet(Duration.ofMillis(50).toNanos());
        timer.look();
        assertThat(done).containsExactly("done");
        assertThat(timer.task).isEmpty();
    }
}
