package dev.holdfast.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** What is done at most once in a time. */
class ThrottleTest {
    private final List<Long> waits = new ArrayList<>();
    private final List<Runnable> due = new ArrayList<>();
    private int done;

    private Future<?> later(long millis, Runnable task) {
        waits.add(millis);
        due.add(task);
        return new CompletableFuture<>();
    }

    @Test
    void theFirstTimeIsAtOnceAndTheNextAtTheEndOfTheTimeOnceForAll() {
        Throttle throttle = new Throttle(Duration.ofHours(1), this::later, () -> done++);

        throttle.ask();
        assertThat(done).isOne();
        throttle.ask();
        throttle.ask();
        assertThat(done).isOne();
        assertThat(waits).singleElement().satisfies(millis -> assertThat(millis).isBetween(3_590_000L, 3_600_001L));

        due.get(0).run();
        assertThat(done).isEqualTo(2);
    }

    @Test
    void whoAsksAfterTheTimeGetsItAtOnce() {
        Throttle throttle = new Throttle(Duration.ZERO, this::later, () -> done++);

        throttle.ask();
        throttle.ask();

        assertThat(done).isEqualTo(2);
        assertThat(due).isEmpty();
    }
}
