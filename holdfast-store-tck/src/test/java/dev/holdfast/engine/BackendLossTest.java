package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.Session;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionState;
import dev.holdfast.engine.TestStore.Fate;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A backend that dies: what it owed is answered, what it asked is withdrawn, and the next one starts clean. */
class BackendLossTest {
    private static final String GONE = "error 1 -32603: the process died";

    private final TestBed bed = new TestBed();
    private final Session session = bed.open();
    private final TestBackend.Life first = bed.backend.life();

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.backend.lives).allMatch(life -> life.closed > 0);
    }

    private void die() {
        first.sink.lost("the process died");
    }

    private boolean answer(String id) {
        return TestBed.now(session.answer(Wire.answer(new RequestId(id))));
    }

    @Test
    void runningCallsEndAtOnceWithAnErrorThatNamesTheCause() {
        Connection one = bed.post(session, 1);
        Connection two = bed.post(session, 2);
        die();
        assertThat(one.read()).containsExactly(GONE);
        assertThat(one.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(two.read()).containsExactly("error 2 -32603: the process died");
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(first.closed).isOne();
        assertThat(bed.backend.lives).hasSize(1);
    }

    @Test
    void aSecondReportChangesNothing() {
        die();
        Connection post = bed.post(session, 1);
        die();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(bed.backend.lives).hasSize(2);
    }

    @Test
    void whatItAskedInACallIsWithdrawnBeforeTheCallEnds() {
        Connection post = bed.post(session, 1);
        first.call(1).sink().send(Wire.question("q"));
        die();
        assertThat(post.read()).containsExactly("question q", "cancelled q: the process died", GONE);
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void nothingIsWithdrawnBehindTheAnswerOfACall() {
        Connection post = bed.post(session, 1);
        first.call(1).sink().send(Wire.question("q"));
        bed.store.hold();
        first.call(1).respond();
        die();
        bed.store.next().become(Fate.DONE);
        assertThat(post.read()).containsExactly("question q", "result 1");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
        bed.store.release();
        assertThat(post.read()).containsExactly("question q", "result 1");
    }

    @Test
    void whatItAskedOutsideOfCallsIsWithdrawnOnTheListeningStream() {
        first.sink.send(Wire.question("q"));
        die();
        Connection listening = TestBed.listen(session);
        assertThat(listening.read()).containsExactly("question q", "cancelled q: the process died");
        listening.handover();
        assertThat(TestBed.listen(session).read()).isEmpty();
    }

    @Test
    void aPingIsNotWithdrawnAndReachesNobodyAnyMore() {
        Connection listening = TestBed.listen(session);
        first.sink.send(Wire.ping("p1"));
        assertThat(listening.read()).containsExactly("ping p1");
        first.sink.send(Wire.ping("p2"));
        die();
        assertThat(listening.read()).as("all that was ever read").containsExactly("ping p1");
        assertThat(answer("p1")).isFalse();
    }

    @Test
    void aLateAnswerNeverReachesTheNextIncarnation() {
        first.sink.send(Wire.question("q"));
        die();
        bed.post(session, 1);
        assertThat(answer("q")).isFalse();
        assertThat(bed.backend.life().heard).containsExactly("tools/call 1");
    }

    @Test
    void whatADeadBackendStillSendsIsDropped() {
        Connection listening = TestBed.listen(session);
        Connection post = bed.post(session, 1);
        TestBackend.Asked asked = first.call(1);
        die();
        first.sink.send(Wire.notice("late"));
        first.sink.send(Wire.question("late"));
        asked.sink().send(Wire.question("late too"));
        asked.respond();
        bed.post(session, 2);
        first.sink.send(Wire.question("much too late"));
        assertThat(listening.read()).isEmpty();
        assertThat(post.read()).containsExactly(GONE);
        assertThat(answer("late")).isFalse();
        assertThat(answer("late too")).isFalse();
    }

    @Test
    void aQuestionOfTheNextIncarnationIsAnsweredToIt() {
        first.sink.send(Wire.question("1-1"));
        die();
        bed.post(session, 1);
        bed.backend.life().sink.send(Wire.question("2-1"));
        assertThat(answer("1-1")).isFalse();
        assertThat(answer("2-1")).isTrue();
        assertThat(bed.backend.life().heard).endsWith("answer 2-1");
    }

    @Test
    void theLossIsToldWhenTheStoreIsBackIfItIsAwayNow() {
        Connection post = bed.post(session, 1);
        first.call(1).sink().send(Wire.question("q"));
        bed.store.hold();
        first.sink.send(Wire.notice("n"));
        bed.store.next().become(Fate.LOST);
        die();
        assertThat(post.read()).containsExactly("question q");
        bed.store.release();
        assertThat(post.read()).containsExactly("question q", "cancelled q: the process died", GONE);
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void theLossIsToldAgainIfItsAppendFails() {
        Connection post = bed.post(session, 1);
        first.call(1).sink().send(Wire.question("q"));
        bed.store.hold();
        die();
        bed.store.next().become(Fate.LOST);
        bed.store.release();
        assertThat(post.read()).containsExactly("question q", "cancelled q: the process died", GONE);
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void aQuestionThatWasStillOnItsWayIsWithdrawnToo() {
        Connection post = bed.post(session, 1);
        bed.store.hold();
        first.call(1).sink().send(Wire.question("q"));
        die();
        bed.store.release();
        assertThat(post.read()).containsExactly("question q", "cancelled q: the process died", GONE);
    }

    @Test
    void aCallThatNoBackendHadYetGoesToTheNext() {
        Call call = TestBed.accepted(session.call(TestBed.requests(1)));
        Connection post = new Connection(call.reader().orElseThrow());
        die();
        assertThat(post.read()).isEmpty();
        call.dispatch();
        bed.backend.life().call(1).respond();
        assertThat(bed.backend.lives).hasSize(2);
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void aCallThatTheStoreStillOpensGoesToTheNext() {
        bed.store.hold();
        CompletionStage<Call.Outcome> opening = session.call(TestBed.requests(1));
        die();
        bed.store.release();
        Call call = TestBed.accepted(opening);
        Connection post = new Connection(call.reader().orElseThrow());
        call.dispatch();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void theSessionOutlivesItsBackend() {
        Connection listening = TestBed.listen(session);
        die();
        bed.pass(TestBed.IDLE.multipliedBy(3));
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(listening.end).isEmpty();
        assertThat(bed.news.heard).startsWith("created").noneMatch(heard -> heard.startsWith("closed"));
    }

    @Test
    void aSessionThatEndsWithoutABackendClosesNone() {
        die();
        session.terminate();
        assertThat(first.closed).isOne();
        assertThat(bed.news.heard).containsExactly("created", "closed: TERMINATED");
    }

    @Test
    void whatItHasDoneNothingOfGoesToTheNextAndTheRestEnds() {
        Connection untouched = bed.post(session, 1);
        Connection touched = bed.post(session, 2);
        first.sink.lost("it forgot the session", List.of(first.call(1).request()));
        assertThat(touched.read()).containsExactly("error 2 -32603: it forgot the session");
        assertThat(bed.backend.lives).hasSize(2);
        assertThat(bed.backend.life().calls).hasSize(1);
        bed.backend.life().call(1).respond();
        first.call(1).respond();
        assertThat(untouched.read()).containsExactly("result 1");
    }

    @Test
    void ofTwoThatHadOneIdTheLaterOneGoesToTheNext() {
        InboundMessage cancelled = Wire.request(Wire.id(5), "cancelled", JournalChange.NONE);
        TestBed.accepted(session.call(List.of(cancelled))).dispatch();
        session.cancel(Wire.id(5), Wire.cancelled(5));
        Connection post = bed.post(session, 5);
        InboundMessage wanted = first.call(5).request();
        first.sink.lost("it forgot the session", List.of(cancelled, wanted));
        assertThat(bed.backend.life().heard).containsExactly("tools/call 5");
        bed.backend.life().call(5).respond();
        assertThat(post.read()).containsExactly("result 5");
    }

    @Test
    void ofTwoThatRunUnderOneIdTheOneThatItHasDoneNothingOfGoesToTheNext() {
        Connection touched = bed.post(session, 5);
        Connection untouched = bed.post(session, 5);
        first.sink.lost("it forgot the session", List.of(first.calls.get(1).request()));
        assertThat(touched.read()).containsExactly("error 5 -32603: it forgot the session");
        assertThat(bed.backend.life().heard).containsExactly("tools/call 5");
        bed.backend.life().call(5).respond();
        assertThat(untouched.read()).containsExactly("result 5");
    }

    @Test
    void whatOneHasDoneNothingOfThatWasRestoredForNobodyGoesToTheNext() {
        TestBed.listen(session);
        die();
        bed.pass(Duration.ofMinutes(1));
        assertThat(bed.backend.lives).hasSize(2);
        Connection post = bed.post(session, 1);
        bed.backend
                .life()
                .sink
                .lost(
                        "it forgot the session",
                        List.of(bed.backend.life().call(1).request()));
        assertThat(bed.backend.lives).hasSize(3);
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    private static void tell(TestBackend.Asked asked, int... steps) {
        for (int step : steps) {
            asked.sink().send(Wire.progress("progress " + step));
        }
    }

    @Test
    void progressThatOneHasToldOfARequestThatItGivesBackIsNotToldAgain() {
        Connection post = bed.post(session, 1);
        tell(first.call(1), 1, 2);
        first.sink.lost("it forgot the session", List.of(first.call(1).request()));
        tell(bed.backend.life().call(1), 1, 2, 3);
        bed.backend
                .life()
                .sink
                .lost(
                        "it forgot the session",
                        List.of(bed.backend.life().call(1).request()));
        tell(bed.backend.life().call(1), 1, 2, 3, 4);
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("progress 1", "progress 2", "progress 3", "progress 4", "result 1");
    }

    @Test
    void soItIsThoughTheClientHasConfirmedIt() {
        Connection post = bed.post(session, 1);
        tell(first.call(1), 1, 2);
        assertThat(post.read()).hasSize(2);
        post.broken();
        Connection back = TestBed.resume(session, post);
        first.sink.lost("it forgot the session", List.of(first.call(1).request()));
        tell(bed.backend.life().call(1), 1, 2, 3);
        bed.backend.life().call(1).respond();
        assertThat(back.read()).containsExactly("progress 3", "result 1");
    }

    @Test
    void ofABatchEachRequestHasItsOwnProgress() {
        Connection post = bed.post(session, 1, 2);
        tell(first.call(1), 7);
        tell(first.call(2), 1);
        first.sink.lost(
                "it forgot the session",
                List.of(first.call(1).request(), first.call(2).request()));
        tell(bed.backend.life().call(1), 7, 8);
        tell(bed.backend.life().call(2), 1, 2);
        bed.backend.life().call(1).respond();
        bed.backend.life().call(2).respond();
        assertThat(post.read())
                .containsExactly("progress 7", "progress 1", "progress 8", "progress 2", "result 1", "result 2");
    }

    @Test
    void progressThatGoesBackPassesWhereNothingWasGivenBack() {
        Connection post = bed.post(session, 1);
        tell(first.call(1), 2, 1, 1);
        first.call(1).respond();
        assertThat(post.read()).containsExactly("progress 2", "progress 1", "progress 1", "result 1");
    }

    @Test
    void aCancellationGoesToTheOneThatHasTheRequestThoughTheOneBeforeAsksForItLate() {
        List<String> told = new ArrayList<>();
        bed.post(session, 1);
        TestBackend.Asked before = first.call(1);
        first.sink.lost("it forgot the session", List.of(before.request()));
        bed.backend.life().call(1).sink().onCancel(notification -> told.add("second"));
        before.sink().onCancel(notification -> told.add("first"));
        session.cancel(Wire.id(1), Wire.cancelled(1));
        assertThat(told).containsExactly("second");
    }

    @Test
    void whatOneSendsForARequestThatItHasGivenBackIsDropped() {
        Connection post = bed.post(session, 1);
        TestBackend.Asked before = first.call(1);
        first.sink.lost("it forgot the session", List.of(before.request()));
        before.sink().send(Wire.out(EventKind.SERVER_REQUEST, Wire.id(77), "late question"));
        before.sink().disconnect(Duration.ofSeconds(1));
        before.respond();
        assertThat(post.read()).isEmpty();
        assertThat(post.end).isEmpty();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void soItIsWhileTheNextIsBeingOpened() {
        Connection post = bed.post(session, 1);
        TestBackend.Asked before = first.call(1);
        bed.backend.slow = true;
        first.sink.lost("it forgot the session", List.of(before.request()));
        before.respond();
        assertThat(post.read()).isEmpty();
        bed.backend.life().accept();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void oneThatIsOpenedForASessionThatHasEndedMeanwhileIsGivenUp() {
        TestBed.listen(session);
        die();
        bed.backend.slow = true;
        bed.pass(Duration.ofMinutes(1));
        bed.post(session, 1);
        TestBackend.Life away = bed.backend.life();
        bed.restores = new SessionLifecycleListener() {
            @Override
            public void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
                session.terminate();
            }
        };

        away.stayAway();

        away.closed++; // it left nothing behind
        assertThat(bed.backend.lives).hasSize(3);
        assertThat(bed.backend.life().abandoned).isOne();
        bed.backend.life().accept();
    }

    @Test
    void whatItIsBeingGivenWhileItReportsItsLossGoesToTheNext() {
        first.meanwhile = request -> {
            first.sink.lost("it forgot the session", List.of());
            first.sink.lost("it forgot the session", List.of(request));
        };
        Connection post = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        first.call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(bed.backend.lives).hasSize(2);
    }

    @Test
    void whatItIsBeingGivenWhileItReportsItsLossEndsIfItIsNotGivenBack() {
        first.meanwhile = request -> first.sink.lost("it forgot the session", List.of());
        Connection post = bed.post(session, 1);
        assertThat(post.read()).containsExactly("error 1 -32603: it forgot the session");
        first.sink.lost("it forgot the session", List.of(first.call(1).request()));
        assertThat(bed.backend.lives).hasSize(1);
    }

    @Test
    void whatItThrowsAfterItHasGivenARequestBackDoesNotEndThat() {
        first.meanwhile = request -> {
            first.sink.lost("it forgot the session", List.of(request));
            throw new IllegalStateException("expected");
        };
        Connection post = bed.post(session, 1);
        assertThat(post.read()).isEmpty();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void whatItGivesBackAfterItHasThrownGoesToTheNextThoughTheStoreIsAway() {
        first.sink.send(Wire.notice("n"));
        List<InboundMessage> requests = TestBed.requests(1);
        Call call = TestBed.accepted(session.call(requests));
        Connection post = new Connection(call.reader().orElseThrow());
        bed.store.hold();
        first.sink.send(Wire.notice("n"));
        bed.store.next().become(Fate.LOST);
        first.failure = Optional.of(new IllegalStateException("expected"));
        call.dispatch();
        first.sink.lost("it forgot the session", requests);
        bed.store.release();
        assertThat(post.read()).isEmpty();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void whatItHasTakenAndDidNotGiveBackIsNotGivenBackLater() {
        Connection post = bed.post(session, 1);
        first.sink.lost("it forgot the session", List.of());
        first.sink.lost("it forgot the session", List.of(first.call(1).request()));
        assertThat(post.read()).containsExactly("error 1 -32603: it forgot the session");
        assertThat(bed.backend.lives).hasSize(1);
    }

    @Test
    void aRequestThatNoneOfManyHasTouchedEndsWithAnError() {
        Connection post = bed.post(session, 1);
        for (int i = 0; i < 4; i++) {
            TestBackend.Life life = bed.backend.life();
            life.sink.lost("it forgot the session", List.of(life.call(1).request()));
        }
        assertThat(post.read()).containsExactly("error 1 -32603: it forgot the session");
        assertThat(bed.backend.lives).hasSize(4);
    }

    @Test
    void aRequestThatWasCancelledMeanwhileGoesNowhere() {
        Connection post = bed.post(session, 1);
        TestBackend.Asked asked = first.call(1);
        assertThat(session.cancel(Wire.id(1), Wire.cancelled(1))).isNotNull();
        first.sink.lost("it forgot the session", List.of(asked.request()));
        assertThat(bed.backend.lives).hasSize(1);
        assertThat(post.reason()).isEqualTo(EndReason.CANCELLED);
    }

    @Test
    void aFreshConnectionIsOpenedWithTheContextOfTheMessageThatNeedsIt() {
        die();
        InboundMessage request = Wire.request(1).withContext("a header");
        Call call = TestBed.accepted(session.call(List.of(request)));
        call.dispatch();
        assertThat(bed.backend.life().request.initialize().context()).isEqualTo("a header");
        assertThat(Wire.text(bed.backend.life().request.initialize().bytes())).isEqualTo("initialize 0");
        bed.backend.life().call(1).respond();
    }
}
