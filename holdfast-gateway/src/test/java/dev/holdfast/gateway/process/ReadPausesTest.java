package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Whether a reader has paused meanwhile. */
class ReadPausesTest {
    private final ReadPauses pauses = new ReadPauses();

    @Test
    void aPauseThatHasEndedBeforeTheMarkIsForgotten() {
        pauses.during(() -> {});

        assertThat(pauses.since(pauses.mark())).isFalse();
    }

    @Test
    void aPauseThatBeganAndEndedAfterTheMarkCounts() {
        int mark = pauses.mark();
        pauses.during(() -> {});

        assertThat(pauses.since(mark)).isTrue();
    }

    @Test
    void aPauseInWhichTheMarkWasMadeCounts() {
        pauses.during(() -> assertThat(pauses.since(pauses.mark())).isTrue());
    }
}
