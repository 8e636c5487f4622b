package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LatelyTest {
    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE);
    private final AtomicInteger found = new AtomicInteger();
    private final Lately<Integer> lately = new Lately<>(found::incrementAndGet, Duration.ofSeconds(3), clock::get);

    @Test
    void anAnswerIsGivenAgainUntilItIsTooOld() {
        assertThat(lately.get()).isEqualTo(1);
        clock.addAndGet(Duration.ofSeconds(3).toNanos());
        assertThat(lately.get()).isEqualTo(1);
        clock.incrementAndGet();
        assertThat(lately.get()).isEqualTo(2);
        assertThat(lately.get()).isEqualTo(2);
    }
}
