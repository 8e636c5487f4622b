package dev.holdfast.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class RetryPolicyTest {
    private long now;

    private RetryPolicy within(Duration duration) {
        return new RetryPolicy(() -> duration, () -> 0, () -> now);
    }

    /** Fails until the retry timeout is over, and returns the waits. */
    private List<Long> waits(RetryPolicy policy, long stated) {
        List<Long> waits = new ArrayList<>();
        OptionalLong wait = policy.failed(stated);
        while (wait.isPresent()) {
            waits.add(wait.getAsLong());
            now += TimeUnit.MILLISECONDS.toNanos(wait.getAsLong());
            wait = policy.failed(stated);
        }
        return waits;
    }

    @Test
    void waitsTwiceAsLongEachTimeUpToTenSecondsOrHalfOfThat() {
        assertThat(waits(within(Duration.ofSeconds(40)), 0))
                .containsExactly(
                        50L, 100L, 200L, 400L, 800L, 1600L, 3200L, 5_000L, 5_000L, 5_000L, 5_000L, 5_000L, 5_000L);
    }

    @Test
    void neverComesSoonerThanTheServerWants() {
        assertThat(waits(within(Duration.ofSeconds(60)), 20_000)).containsExactly(20_000L, 20_000L, 20_000L);
    }

    @Test
    void successBeginsAnew() {
        RetryPolicy policy = within(Duration.ofSeconds(1));
        waits(policy, 0);
        policy.succeeded();

        assertThat(policy.failed(0)).hasValue(50);
    }

    @Test
    void whoIsPolledInVainIsPolledForEverButNotOften() {
        assertThat(polls(within(Duration.ofSeconds(2)), 1))
                .containsExactly(50L, 100L, 200L, 400L, 400L, 400L, 400L, 400L);
    }

    private List<Long> polls(RetryPolicy policy, long stated) {
        List<Long> waits = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            long wait = policy.polled(stated, false);
            waits.add(wait);
            now += TimeUnit.MILLISECONDS.toNanos(wait);
        }
        return waits;
    }

    @Test
    void pollThatTheServerWantsLateUsesUpNoRetryTimeout() {
        RetryPolicy policy = within(Duration.ofSeconds(2));

        assertThat(polls(policy, 300_000)).containsOnly(300_000L);
        assertThat(policy.failed(300_000)).hasValue(2_000);
    }

    @Test
    void pollThatBringsNewsIsFollowedSoonByTheNext() {
        RetryPolicy policy = within(Duration.ofSeconds(2));
        polls(policy, 1);

        assertThat(policy.polled(1, true)).isEqualTo(50);
    }

    @Test
    void waitThatTheServerWantsIsTriedOnceThoughItTakesAllTheRetryTimeout() {
        assertThat(waits(within(Duration.ofSeconds(5)), 150_000)).containsExactly(5_000L);
    }

    @Test
    void spreadsByHalfAndNeverBelowWhatTheServerWants() {
        assertThat(new RetryPolicy(() -> Duration.ofSeconds(5), () -> 1, () -> now).failed(0))
                .hasValue(150);
        assertThat(new RetryPolicy(() -> Duration.ofSeconds(5), () -> 1, () -> now).failed(1_000))
                .hasValue(2_000);
    }

    @Test
    void noRetryTimeoutTriesNothingAgain() {
        assertThat(within(Duration.ZERO).failed(0)).isEmpty();
    }

    @Test
    void givesUpAtTheNextFailureOnceThereIsLessTime() {
        AtomicReference<Duration> timeout = new AtomicReference<>(Duration.ofMinutes(2));
        RetryPolicy policy = new RetryPolicy(timeout::get, () -> 0, () -> now);
        assertThat(policy.failed(0)).hasValue(50);
        now += TimeUnit.SECONDS.toNanos(6);
        assertThat(policy.failed(0)).hasValue(100);

        timeout.set(Duration.ofSeconds(5));

        assertThat(policy.failed(0)).isEmpty();
        policy.succeeded();
        assertThat(policy.failed(0)).hasValue(50);
    }
}
