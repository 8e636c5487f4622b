package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.LogThrottle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LogThrottleTest {
    private final VirtualTime time = new VirtualTime();
    private final LogThrottle throttle = new LogThrottle(3, time);
    private final List<String> lines = new ArrayList<>();

    private void facts(int count) {
        for (int i = 0; i < count; i++) {
            throttle.write(more -> lines.add("fact" + more));
        }
    }

    @Test
    void aHandfulIsWrittenInFull() {
        facts(3);
        assertThat(lines).containsExactly("fact", "fact", "fact");
    }

    @Test
    void whatIsBeyondIsLeftOutUntilTenSecondsAreOver() {
        facts(1000);
        time.advance(Duration.ofMillis(9_999));
        facts(1);
        assertThat(lines).hasSize(3);

        time.advance(Duration.ofMillis(1));
        facts(4);
        assertThat(lines).hasSize(6).endsWith("fact, and before that another 998 of this kind", "fact", "fact");
    }

    @Test
    void whatWasLeftOutIsToldOnce() {
        facts(4);
        for (int i = 0; i < 2; i++) {
            time.advance(Duration.ofSeconds(10));
            facts(1);
        }
        assertThat(lines)
                .containsExactly("fact", "fact", "fact", "fact, and before that another 1 of this kind", "fact");
    }

    @Test
    void aFactEveryFewSecondsIsNeverLeftOut() {
        for (int i = 0; i < 100; i++) {
            time.advance(Duration.ofSeconds(4));
            facts(1);
        }
        assertThat(lines).hasSize(100).containsOnly("fact");
    }
}
