package dev.holdfast.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.client.Retry.OutageState;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class OutageStateTest {
    private final Recorder watch = new Recorder();
    private final OutageState outage = new OutageState(watch);

    private void broke() {
        outage.broke(new IOException("cut"));
    }

    @Test
    void isToldOnceAndIsOverWhenEverythingIsBack() {
        broke();
        broke();
        outage.back();
        assertThat(watch.heard).containsExactly("reconnecting");

        outage.back();
        assertThat(watch.heard).containsExactly("reconnecting", "resumed");
    }

    @Test
    void isOverWhenTheRestIsBackThoughSomethingWasGivenUp() {
        broke();
        broke();
        outage.givenUp();
        outage.back();

        assertThat(watch.heard).containsExactly("reconnecting", "resumed");
    }

    @Test
    void thatWasGivenUpIsOverWhenTheServerIsReachedTheNextTime() {
        broke();
        outage.givenUp();
        broke();
        outage.givenUp();
        assertThat(watch.heard).containsExactly("reconnecting");

        outage.reached();
        outage.reached();
        assertThat(watch.heard).containsExactly("reconnecting", "resumed");
    }

    @Test
    void lastsWhileSomethingIsBrokenThoughTheServerIsReached() {
        broke();
        outage.reached();

        assertThat(watch.heard).containsExactly("reconnecting");
    }
}
