package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import java.time.Duration;
import java.util.Collections;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The store fails one node of several, as a whole or for one session. */
class ClusterFailureTest {
    private final ClusterBed bed = new ClusterBed(2);
    private final ClusterBed.Node first = bed.node(0);

    @AfterEach
    void close() {
        bed.close();
    }

    @Test
    void callsAreRefusedWhileTheStoreTakesNoCommitsThoughItRenewsLeases() {
        first.open();
        Session other = first.open();
        first.store.decree(Collections.nCopies(20, FlakyCluster.Fate.LOST).toArray(FlakyCluster.Fate[]::new));
        first.backend.lives.get(0).sink.send(Wire.notice("a"));
        for (int tenths = 0; tenths < 30; tenths++) {
            bed.pass(Duration.ofMillis(100));
            assertThat(other.call(TestBed.requests(1)).toCompletableFuture()).isCompletedExceptionally();
        }
        assertThat(first.engine.mayWrite()).isTrue();
        bed.pass(Duration.ofSeconds(5));
        assertThat(bed.post(other, 1).end).isEmpty();
    }
}
