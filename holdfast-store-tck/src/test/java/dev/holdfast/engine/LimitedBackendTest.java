package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.Unavailable;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A backend that may have two connections: who gets one, whose ends for it, and who is told to come back. */
class LimitedBackendTest {
    private static final String FULL = Refusal.BACKENDS.text();
    private static final Duration MOMENT = Duration.ofSeconds(6);

    private final TestBed bed = TestBed.limited(2);

    @AfterEach
    void close() {
        bed.backend.lives.forEach(TestBackend.Life::gone);
        bed.close();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.backend.lives).allMatch(life -> life.closed > 0);
    }

    /** A session that its client uses and then leaves alone. */
    private Session idle() {
        Session session = bed.open();
        use(session);
        bed.pass(Duration.ofSeconds(1));
        return session;
    }

    private static void use(Session session) {
        assertThat(TestBed.now(session.notify(Wire.notification("used")))).isEmpty();
    }

    private Session detached() {
        Session session = idle();
        TestBed.listen(session).broken();
        bed.pass(Duration.ofSeconds(1));
        assertThat(session.state()).isEqualTo(SessionState.DETACHED);
        return session;
    }

    private TestBackend.Life life(int index) {
        return bed.backend.lives.get(index);
    }

    private CompletionStage<Opening> opening() {
        return bed.engine.open(Wire.initialize(), "", TestBed.LIFETIME);
    }

    private long open() {
        return bed.backend.lives.stream().filter(life -> life.closed == 0).count();
    }

    @Test
    void theBackendOfTheLongestIdleSessionEndsForANewOne() {
        idle();
        idle();
        bed.open();
        assertThat(life(0).closed).isOne();
        assertThat(life(1).closed).isZero();
        assertThat(bed.news.heard).contains("backend released").noneMatch(heard -> heard.startsWith("closed"));
    }

    @Test
    void thatOfADetachedSessionEndsBeforeThatOfAnIdleOne() {
        idle();
        detached();
        bed.open();
        assertThat(life(0).closed).isZero();
        assertThat(life(1).closed).isOne();
    }

    @Test
    void thatOfTheLongestDetachedSessionEndsFirst() {
        Session first = detached();
        detached();
        TestBed.listen(first).broken();
        bed.open();
        assertThat(life(0).closed).isZero();
        assertThat(life(1).closed).isOne();
    }

    @Test
    void theSessionStaysAndGetsAFreshBackendWhenItIsUsedAgain() {
        Session first = idle();
        idle();
        idle();
        Connection post = bed.post(first, 1);
        assertThat(bed.backend.lives).hasSize(4);
        assertThat(life(1).closed).isOne();
        assertThat(bed.backend.life().heard).containsExactly("tools/call 1");
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(open()).isEqualTo(2);
    }

    @Test
    void aNewOneIsToldToComeBackWhereAllAreInUse() {
        Connection post = bed.post(idle(), 1);
        TestBed.listen(idle());
        assertThat(TestBed.now(opening())).isEqualTo(new Unavailable(Refusal.BACKENDS));
        assertThat(bed.backend.lives).hasSize(2);
        life(0).call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        post.inOrder();
        assertThat(TestBed.now(opening())).isInstanceOf(Opening.Opened.class);
        assertThat(life(0).closed).isOne();
        assertThat(bed.engine.stats().sessions()).isEqualTo(3);
    }

    @Test
    void aSessionWhoseAnswerIsThereNeedsNoBackendThoughItsConnectionHasNotEnded() {
        Connection post = bed.post(idle(), 1);
        TestBed.listen(idle());
        life(0).call(1).respond();
        assertThat(post.read()).containsExactly("result 1");

        assertThat(TestBed.now(opening())).isInstanceOf(Opening.Opened.class);

        assertThat(life(0).closed).isOne();
        post.inOrder();
    }

    @Test
    void aSessionInItsHandshakeKeepsItsBackendForAMoment() {
        bed.open();
        bed.open();
        assertThat(TestBed.now(opening())).isEqualTo(new Unavailable(Refusal.BACKENDS));
        bed.pass(MOMENT);
        assertThat(TestBed.now(opening())).isInstanceOf(Opening.Opened.class);
    }

    @Test
    void noneIsOpenedBeforeTheOneThatMadeRoomIsGone() {
        bed.backend.lingering = true;
        idle();
        idle();
        CompletionStage<Opening> first = opening();
        CompletionStage<Opening> second = opening();
        CompletionStage<Opening> third = opening();
        assertThat(life(0).closed + life(1).closed).isEqualTo(2);
        assertThat(TestBed.now(third)).isEqualTo(new Unavailable(Refusal.BACKENDS));
        assertThat(first.toCompletableFuture()).isNotDone();
        assertThat(bed.backend.lives).hasSize(2);
        life(1).gone();
        assertThat(TestBed.now(first)).isInstanceOf(Opening.Opened.class);
        assertThat(bed.backend.lives).hasSize(3);
        life(0).gone();
        assertThat(TestBed.now(second)).isInstanceOf(Opening.Opened.class);
        assertThat(bed.backend.lives).hasSize(4);
    }

    @Test
    void oneOnItsWayOutIsWaitedForAndNoOtherEnds() {
        bed.backend.lingering = true;
        Session leaving = idle();
        idle();
        assertThat(leaving.terminate()).isNotNull();
        CompletionStage<Opening> opening = opening();
        assertThat(life(1).closed).isZero();
        life(0).gone();
        assertThat(TestBed.now(opening)).isInstanceOf(Opening.Opened.class);
        assertThat(life(1).closed).isZero();
    }

    @Test
    void aSessionThatIsUsedAgainWaitsUntilOneIsNotInUseAnyMore() {
        Session first = idle();
        Connection one = bed.post(idle(), 1);
        Connection two = bed.post(idle(), 2);
        assertThat(life(0).closed).isOne();
        Connection back = bed.post(first, 3);
        bed.pass(Duration.ofSeconds(2));
        assertThat(bed.backend.lives).hasSize(3);
        assertThat(back.read()).isEmpty();

        life(1).call(1).respond();
        one.read();
        one.inOrder();
        bed.pass(Duration.ofSeconds(1));
        assertThat(life(1).closed).isOne();
        bed.backend.life().call(3).respond();
        assertThat(back.read()).containsExactly("result 3");
        life(2).call(2).respond();
        assertThat(two.read()).containsExactly("result 2");
    }

    @Test
    void itsCallEndsWithAnErrorWhereAllStayInUse() {
        Session first = idle();
        bed.post(idle(), 1);
        bed.post(idle(), 2);
        Connection back = bed.post(first, 3);
        bed.pass(Duration.ofSeconds(31));
        assertThat(back.read()).containsExactly("error 3 -32603: " + FULL);
        life(1).call(1).respond();
        life(2).call(2).respond();
    }

    @Test
    void aSessionThatEndsWhileItWaitsTakesNoPlace() {
        Session first = idle();
        bed.post(idle(), 1);
        bed.post(idle(), 2);
        bed.post(first, 3);
        assertThat(TestBed.now(first.terminate())).isNull();
        life(1).call(1).respond();
        bed.pass(Duration.ofSeconds(1));
        assertThat(bed.backend.lives).hasSize(3);
        life(2).call(2).respond();
    }

    @Test
    void oneThatWasNotOpenedLeavesItsPlace() {
        bed.backend.slow = true;
        for (int i = 0; i < 4; i++) {
            CompletionStage<Opening> opening = opening();
            bed.backend.life().stayAway();
            assertThat(TestBed.now(opening)).isInstanceOf(Opening.Refused.class);
            bed.backend.life().closed++;
        }
        bed.backend.unopened = Optional.of(new IllegalStateException("it throws"));
        for (int i = 0; i < 4; i++) {
            assertThat(opening().toCompletableFuture()).isCompletedExceptionally();
        }
        bed.backend.unopened = Optional.empty();
        bed.backend.slow = false;
        bed.open();
        bed.open();
        assertThat(bed.backend.lives).hasSize(6);
    }

    @Test
    void whatTheReleasedBackendAskedIsWithdrawn() {
        Session first = idle();
        life(0).sink.send(Wire.question("q"));
        idle();
        idle();
        Connection listening = TestBed.listen(first);
        assertThat(listening.read()).containsExactly("question q", "cancelled q: another session needed the backend");
        listening.inOrder();
    }
}
