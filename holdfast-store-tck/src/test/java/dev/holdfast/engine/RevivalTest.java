package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that only listens, and whose backend goes. */
class RevivalTest {
    @AutoClose
    private final TestBed bed = new TestBed();

    private final Session session = bed.open();

    private int opened() {
        return bed.backend.lives.size();
    }

    private void die() {
        bed.backend.life().sink.lost("the process died");
    }

    @Test
    void hearsOfTheNextOneWithoutAskingForIt() {
        Connection listening = TestBed.listen(session);
        die();
        assertThat(opened()).isOne();
        bed.pass(Duration.ofSeconds(1));
        assertThat(opened()).isEqualTo(2);
        bed.backend.life().sink.send(Wire.notice("back"));
        assertThat(listening.read()).containsExactly("back");
    }

    @Test
    void whoDoesNotListenGetsNoneBeforeItAsks() {
        die();
        bed.pass(Duration.ofMinutes(1));
        assertThat(opened()).isOne();
        bed.post(session, 1);
        assertThat(opened()).isEqualTo(2);
    }

    @Test
    void whoComesBackToListenGetsOne() {
        die();
        bed.pass(Duration.ofMinutes(1));
        TestBed.listen(session);
        bed.pass(Duration.ofSeconds(1));
        assertThat(opened()).isEqualTo(2);
    }

    @Test
    void oneThatDiesAtOnceIsTriedLessAndLessOften() {
        TestBed.listen(session);
        for (int second = 0; second < 300; second++) {
            if (bed.backend.life().closed == 0) {
                die();
            }
            bed.pass(Duration.ofSeconds(1));
        }
        // after 0, 1, 3, 7, 15, 31, 63 seconds, and each minute from then on, or up to a quarter later
        assertThat(opened()).isBetween(9, 12);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5})
    void sessionsThatLoseTheirsTogetherDoNotComeTogether(int seconds) {
        int sessions = 40;
        TestBed.listen(session);
        for (int i = 1; i < sessions; i++) {
            TestBed.listen(bed.open());
        }
        int most = 0;
        int dead = 0;
        for (int second = 0; second < 400; second++) {
            if (second % seconds == 0) {
                bed.backend.lives.subList(dead, opened()).forEach(life -> life.sink.lost("the process died"));
                dead = opened();
            }
            int before = opened();
            bed.pass(Duration.ofSeconds(1));
            most = second < 200 ? 0 : Math.max(most, opened() - before);
        }
        assertThat(most).isBetween(1, sessions / 3);
    }

    @Test
    void oneThatCannotBeReachedIsTriedUntilItCan() {
        Connection listening = TestBed.listen(session);
        die();
        bed.backend.slow = true;
        for (int i = 0; i < 3; i++) {
            bed.pass(Duration.ofSeconds(5));
            bed.backend.life().stayAway();
        }
        bed.backend.slow = false;
        bed.pass(Duration.ofMinutes(1));
        bed.backend.life().sink.send(Wire.notice("back"));
        assertThat(listening.read()).contains("back");
    }

    @Test
    void oneThatStayedIsReplacedAtOnceAgain() {
        TestBed.listen(session);
        for (int round = 2; round < 6; round++) {
            die();
            bed.pass(Duration.ofSeconds(1));
            assertThat(opened()).isEqualTo(round);
            bed.pass(Duration.ofMinutes(2));
        }
    }

    @Test
    void aCallThatJoinsARestoreInVainGetsOneOfItsOwn() {
        TestBed.listen(session);
        bed.backend.slow = true;
        die();
        bed.pass(Duration.ofSeconds(1));
        Connection post = bed.post(session, 1);
        bed.backend.life().stayAway();
        assertThat(opened()).isEqualTo(3);
        bed.backend.life().accept();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void nobodyIsOpenedWhileTheServerDrains() {
        TestBed.listen(session);
        bed.post(session, 1);
        CompletionStage<Void> drained = bed.engine.drain(Duration.ofMinutes(1));
        die();
        bed.pass(Duration.ofSeconds(5));
        assertThat(opened()).isOne();
        bed.pass(Duration.ofMinutes(1));
        TestBed.now(drained);
    }

    @Test
    void oneThatNeedsTheHeadersOfARequestWaitsForOne() {
        TestBed.listen(session);
        bed.backend.needsContext = true;
        die();
        bed.pass(Duration.ofMinutes(1));
        assertThat(opened()).isOne();
    }
}
