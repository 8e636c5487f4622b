package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.session.LiveCall;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Calls: their ids, their answers, their cancellation, and batches of them. */
class CallTest {
    private final TestBed bed = new TestBed();
    private final Session session = bed.open();

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    private TestBackend.Asked call(int id) {
        return bed.backend.life().call(id);
    }

    private void cancel(int id) {
        session.cancel(Wire.id(id), Wire.cancelled(id));
    }

    @Test
    void claudeAiMcp539_callsWithOneIdAreAnsweredEachOnItsOwnStream() {
        Connection first = bed.post(session, 1);
        Connection second = bed.post(session, 1);
        List<TestBackend.Asked> asked = bed.backend.life().calls;
        asked.get(1).sink().send(Wire.progress("of the second"));
        asked.get(1).respond();
        asked.get(0).sink().send(Wire.progress("of the first"));
        asked.get(0).respond();
        assertThat(first.read()).containsExactly("of the first", "result 1");
        assertThat(second.read()).containsExactly("of the second", "result 1");
    }

    @Test
    void goSdk1004_aCancellationMeansTheNewestCallOfItsId() {
        Connection first = bed.post(session, 1);
        Connection second = bed.post(session, 1);
        cancel(1);
        assertThat(second.reason()).isEqualTo(EndReason.CANCELLED);
        assertThat(first.end).isEmpty();
        Connection third = bed.post(session, 1);
        bed.backend.life().calls.get(2).respond();
        assertThat(third.read()).containsExactly("result 1");
        cancel(1);
        assertThat(first.reason()).isEqualTo(EndReason.CANCELLED);
        cancel(1);
    }

    @Test
    void whereAllAnswersComeOnOneStreamAnIdInFlightIsRefusedAndFreeAgainAfterTheAnswer() {
        Session listens = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        TestBed.accepted(listens.call(List.of(Wire.initialize()))).dispatch();
        Connection stream = TestBed.listen(listens);
        TestBed.accepted(listens.call(TestBed.requests(1))).dispatch();
        assertThat(TestBed.now(listens.call(TestBed.requests(1)))).isEqualTo(new Call.Duplicate(Wire.id(1)));
        assertThat(bed.backend.life().calls).hasSize(1);
        call(1).respond();
        TestBed.accepted(listens.call(TestBed.requests(1))).dispatch();
        call(1).respond();
        assertThat(stream.read()).endsWith("result 1", "result 1");
    }

    @Test
    void aNumberIsNotItsString() {
        bed.post(session, 1);
        InboundMessage string = Wire.request(new RequestId("\"1\""), "tools/call", JournalChange.NONE);
        TestBed.accepted(session.call(List.of(string)));
    }

    @Test
    void anIdTwiceInABatchIsRefused() {
        assertThat(TestBed.now(session.call(TestBed.requests(1, 2, 1)))).isEqualTo(new Call.Duplicate(Wire.id(1)));
        assertThat(bed.engine.stats().runningCalls()).isZero();
        bed.post(session, 1);
    }

    @Test
    void theSameIdMayRunInAnotherSession() {
        bed.post(session, 1);
        bed.post(bed.open(), 1);
        assertThat(bed.engine.stats().runningCalls()).isEqualTo(2);
    }

    @Test
    void theResponseEndsTheStreamAndNothingComesAfterIt() {
        Connection post = bed.post(session, 1);
        call(1).respond();
        call(1).sink().send(Wire.progress("late"));
        call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void aResponseToAnotherRequestIsDropped() {
        Connection post = bed.post(session, 1);
        call(1).sink().send(Wire.response(2));
        call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void aBatchEndsWithItsLastResponse() {
        Connection post = bed.post(session, 1, 2);
        call(2).respond();
        assertThat(post.read()).containsExactly("result 2");
        assertThat(post.end).isEmpty();
        call(1).sink().send(Wire.progress("p1"));
        call(1).respond();
        assertThat(post.read()).containsExactly("result 2", "p1", "result 1");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void aCancelledCallEndsWithoutAResponseAndWhatComesLaterIsDropped() {
        Connection post = bed.post(session, 1);
        List<Optional<InboundMessage>> heard = new ArrayList<>();
        call(1).sink().onCancel(heard::add);
        InboundMessage notification = Wire.cancelled(1);
        session.cancel(Wire.id(1), notification);
        call(1).respond();
        assertThat(post.read()).isEmpty();
        assertThat(post.reason()).isEqualTo(EndReason.CANCELLED);
        assertThat(heard).containsExactly(Optional.of(notification));
        assertThat(bed.engine.stats().runningCalls()).isZero();
        bed.post(session, 1);
    }

    @Test
    void aHookThatIsSetTooLateRunsAtOnce() {
        bed.post(session, 1);
        cancel(1);
        List<Optional<InboundMessage>> heard = new ArrayList<>();
        call(1).sink().onCancel(heard::add);
        assertThat(heard).hasSize(1);
    }

    @Test
    void theEndOfItsSessionGivesItUp() {
        Connection post = bed.post(session, 1);
        AtomicInteger told = new AtomicInteger();
        call(1).sink().onCancel(notification -> told.addAndGet(notification.isEmpty() ? 1 : 100));
        session.terminate();
        assertThat(told).hasValue(1);
        assertThat(post.read()).singleElement(STRING).startsWith("error 1 -32603: the session has ended");
    }

    /** A question of the call would be asked once more, on the listening stream. */
    @Test
    void whatItsBackendSaysToTheEndOfItsSessionReachesNobody() {
        Connection listening = TestBed.listen(session);
        bed.post(session, 1);
        call(1).sink().onCancel(notification -> bed.backend.life().sink.send(Wire.question("who", 1)));
        session.terminate();
        assertThat(listening.read()).isEmpty();
        assertThat(listening.reason()).isEqualTo(EndReason.TERMINATED);
    }

    @Test
    void aHookThatFailsHurtsNobody() {
        Connection post = bed.post(session, 1);
        call(1).sink().onCancel(notification -> {
            throw new IllegalStateException("this hook is expected to fail");
        });
        cancel(1);
        assertThat(post.woken).isOne();
        assertThat(post.reason()).isEqualTo(EndReason.CANCELLED);
    }

    @Test
    void cancellingTooLateOrTwiceOrNothingChangesNothing() {
        Connection post = bed.post(session, 1);
        call(1).respond();
        cancel(1);
        cancel(1);
        cancel(7);
        assertThat(post.read()).containsExactly("result 1");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void aCancelledRequestOfABatchLeavesTheOthersRunning() {
        Connection post = bed.post(session, 1, 2);
        cancel(1);
        assertThat(post.end).isEmpty();
        call(1).sink().send(Wire.progress("late"));
        call(2).respond();
        assertThat(post.read()).containsExactly("result 2");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void aCallThatIsCancelledBeforeItIsDispatchedNeverReachesTheBackend() {
        Call call = TestBed.accepted(session.call(TestBed.requests(1)));
        Connection post = new Connection(call.reader().orElseThrow());
        cancel(1);
        call.dispatch();
        assertThat(bed.backend.life().calls).isEmpty();
        assertThat(post.reason()).isEqualTo(EndReason.CANCELLED);
    }

    @Test
    void aBackendThatThrowsAnswersWithAnInternalError() {
        TestBackend.Life life = bed.backend.life();
        life.failure = Optional.of(new IllegalStateException("this backend is expected to fail"));
        Connection post = bed.post(session, 1);
        session.notify(Wire.notification("notifications/roots/list_changed"));
        assertThat(post.read()).containsExactly("error 1 -32603: internal error");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void aCallMayEndBeforeItsConnectionReads() {
        Call call = TestBed.accepted(session.call(TestBed.requests(1)));
        call.dispatch();
        call(1).respond();
        Connection post = new Connection(call.reader().orElseThrow());
        assertThat(post.read()).containsExactly("result 1");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void aCallThatRunsTooLongIsAnsweredWithAnErrorAndItsBackendIsTold() {
        Session hasty = bed.open(TestBed.LIFETIME.withCall(Duration.ofMinutes(5)));
        Connection first = bed.post(hasty, 1);
        List<Optional<InboundMessage>> stopped = new ArrayList<>();
        call(1).sink().onCancel(stopped::add);
        bed.pass(Duration.ofMinutes(1));
        Connection second = bed.post(hasty, 2);

        bed.pass(Duration.ofMinutes(4).plusSeconds(1));

        assertThat(first.read()).containsExactly("error 1 -32603: the call took longer than 5 min");
        assertThat(first.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(stopped).containsExactly(Optional.empty());
        assertThat(second.read()).isEmpty();
        call(1).respond();
        call(2).respond();
        assertThat(second.read()).containsExactly("result 2");
        assertThat(bed.engine.stats().timedOut()).isOne();
        assertThat(bed.news.heard).contains("timed out");
    }

    @Test
    void aBackendThatAsksLateIsToldAtOnceThatItsTimeIsOver() {
        Session hasty = bed.open(TestBed.LIFETIME.withCall(Duration.ofMinutes(5)));
        bed.post(hasty, 1);
        bed.pass(Duration.ofMinutes(6));
        List<Optional<InboundMessage>> stopped = new ArrayList<>();

        call(1).sink().onCancel(stopped::add);

        assertThat(stopped).containsExactly(Optional.empty());
    }

    @Test
    void aCallThatRunsTooLongWhileTheStoreIsAwayIsAnsweredOnceItIsBack() {
        Session hasty = bed.open(TestBed.LIFETIME.withCall(Duration.ofMinutes(5)));
        Connection post = bed.post(hasty, 1);
        List<Optional<InboundMessage>> stopped = new ArrayList<>();
        call(1).sink().onCancel(stopped::add);
        bed.store.hold();
        call(1).sink().send(Wire.progress("p"));

        bed.pass(Duration.ofMinutes(6));
        bed.store.release();

        assertThat(post.read()).containsExactly("p", "error 1 -32603: the call took longer than 5 min");
        assertThat(stopped).hasSize(1);
    }

    @Test
    void aCallThatHasRunTooLongGoesToNoOtherBackendWhileItsErrorCannotBeStored() {
        Session hasty = bed.open(TestBed.LIFETIME.withCall(Duration.ofMinutes(5)));
        Connection post = bed.post(hasty, 1);
        TestBackend.Life before = bed.backend.life();
        bed.store.hold();
        call(1).sink().send(Wire.progress("p"));
        bed.store.next().fail();
        bed.pass(Duration.ofMinutes(6));
        assertThat(bed.news.heard).contains("timed out");

        before.sink.lost("it forgot the session", List.of(before.call(1).request()));
        bed.store.release();
        bed.pass(Duration.ofMinutes(1));

        assertThat(bed.backend.lives)
                .filteredOn(life -> life != before)
                .allSatisfy(life -> assertThat(life.calls).isEmpty());
        assertThat(post.read()).containsExactly("error 1 -32603: the call took longer than 5 min");
    }

    @Test
    void whatOnlyTheBackendNeedsOfARequestIsNotKeptWhileItWorks() {
        LiveCall running = (LiveCall) TestBed.accepted(session.call(TestBed.requests(1)));
        running.dispatch();

        assertThat(running.requests().get(0).message().bytes()).isEmpty();
        assertThat(Wire.text(call(1).request().bytes())).isEqualTo("tools/call 1");
    }
}
