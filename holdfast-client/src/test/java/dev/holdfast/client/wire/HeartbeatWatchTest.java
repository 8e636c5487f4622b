package dev.holdfast.client.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What heartbeats teach. */
@Tag("jdk")
class HeartbeatWatchTest {
    private final HeartbeatWatch watch = new HeartbeatWatch(Duration.ZERO);
    private final HeartbeatWatch.Rhythm rhythm = new HeartbeatWatch.Rhythm(watch);

    private void comment(double seconds) {
        rhythm.bytes((long) (seconds * 1e9), true, true);
    }

    private long limitSeconds() {
        return Duration.ofNanos(watch.streamLimit()).toSeconds();
    }

    @Test
    void twoBeatsOfOneRhythmTeachThreeTimesTheirLength() {
        comment(15);
        assertThat(watch.streamLimit()).isEqualTo(HeartbeatWatch.UNLIMITED);

        comment(15.2);

        assertThat(limitSeconds()).isEqualTo(45);
    }

    @Test
    void commentThatFollowsAMessageByChanceTeachesNothing() {
        comment(15);
        comment(0.8);
        comment(14);
        comment(0.9);

        assertThat(watch.streamLimit()).isEqualTo(HeartbeatWatch.UNLIMITED);
    }

    @Test
    void limitIsNeverBelowTenSeconds() {
        comment(1);
        comment(1);

        assertThat(limitSeconds()).isEqualTo(10);
    }

    @Test
    void beatInTwoPartsIsOne() {
        for (int i = 0; i < 2; i++) {
            rhythm.bytes(Duration.ofSeconds(15).toNanos(), false, false);
            rhythm.bytes(Duration.ofMillis(110).toNanos(), true, true);
        }

        assertThat(limitSeconds()).isEqualTo(45);
    }

    @Test
    void limitThatBreaksAConnectionInVainIsDoubled() {
        comment(15);
        comment(15);

        watch.brokenInVain();

        assertThat(limitSeconds()).isEqualTo(90);
    }

    @Test
    void limitThatWasSetStands() {
        HeartbeatWatch set = new HeartbeatWatch(Duration.ofSeconds(2));
        set.agreed(Duration.ofSeconds(15).toNanos());

        assertThat(set.streamLimit()).isEqualTo(Duration.ofSeconds(2).toNanos());
    }
}
