package dev.holdfast.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.EndReason;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StepTest {
    private final List<String> done = new ArrayList<>();
    private final Step step = new Step();

    private void perform() {
        step.perform(() -> done.add("room"), reason -> done.add("end " + reason));
    }

    private void assertOver() {
        assertThatThrownBy(() -> step.then(() -> {})).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> step.thenLast(() -> {})).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> step.end(EndReason.EXPIRED)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(step::crowd).isInstanceOf(AssertionError.class);
    }

    @Test
    void effectsComeInOrderThenRoomThenTheLastThenTheEnd() {
        step.end(EndReason.EXPIRED);
        step.thenLast(() -> done.add("last"));
        step.crowd();
        step.then(() -> done.add("first"));
        step.then(() -> {
            throw new IllegalStateException("not my day");
        });
        step.then(() -> done.add("second"));

        perform();

        assertThat(done).containsExactly("first", "second", "room", "last", "end EXPIRED");
    }

    @Test
    void nothingIsCausedOnceItIsPerformed() {
        step.then(() -> done.add("first"));
        perform();
        assertOver();
    }

    @Test
    void norByAnEffectOfItsOwn() {
        step.then(() -> step.then(() -> done.add("never")));
        step.then(() -> done.add("second"));
        perform();
        assertThat(done).containsExactly("second");
    }

    @Test
    void norOnceItHasEndedWithoutAnEffect() {
        assertThat(step.endsIdle()).isTrue();
        assertOver();
    }
}
