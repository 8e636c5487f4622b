package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.engine.TestStore.Fate;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The way of messages into a slow store: nothing is visible before its commit, and order is kept. */
class PipelineTest {
    private final TestBed bed = new TestBed();
    private final Session session = bed.open();

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.engine.size()).isZero();
    }

    private CompletableFuture<Void> send(OutboundMessage message) {
        return bed.backend.life().sink.send(message).toCompletableFuture();
    }

    @Test
    void whoIsToldOfACommitMaySendAndWaitThoughOthersStandInTheOutbox() {
        Session session = bed.open();
        bed.store.hold();
        CompletionStage<Void> first = bed.backend.life().sink.send(Wire.notice("first"));
        bed.backend.life().sink.send(Wire.notice("second"));
        List<Boolean> committed = new ArrayList<>();
        first.thenRun(() -> committed.add(bed.backend
                .life()
                .sink
                .send(Wire.notice("third"))
                .toCompletableFuture()
                .isDone()));
        bed.store.release();
        assertThat(committed).containsExactly(true);
        assertThat(TestBed.listen(session).read()).containsExactly("first", "second", "third");
    }

    @Test
    void nothingIsVisibleBeforeItsCommitAndItsStageCompletesThen() {
        Connection listening = TestBed.listen(session);
        bed.store.hold();
        CompletableFuture<Void> sent = send(Wire.notice("a"));
        assertThat(sent).isNotDone();
        assertThat(listening.woken).isZero();
        assertThat(listening.read()).isEmpty();
        bed.store.next().become(Fate.DONE);
        assertThat(sent).isCompleted();
        assertThat(listening.woken).isOne();
        assertThat(listening.read()).containsExactly("a");
    }

    @Test
    void whatComesMeanwhileGoesInOneBatch() {
        Connection listening = TestBed.listen(session);
        bed.store.hold();
        List<CompletableFuture<Void>> stages =
                List.of(send(Wire.notice("a")), send(Wire.notice("b")), send(Wire.notice("c")));
        assertThat(bed.store.waiting()).isOne();
        bed.store.next().become(Fate.DONE);
        assertThat(stages.get(0)).isCompleted();
        assertThat(stages.get(1)).isNotDone();
        assertThat(listening.read()).containsExactly("a");
        assertThat(bed.store.waiting()).isOne();
        bed.store.next().become(Fate.DONE);
        assertThat(stages).allMatch(CompletableFuture::isDone);
        assertThat(listening.read()).containsExactly("a", "b", "c");
        assertThat(bed.store.waiting()).isZero();
    }

    @Test
    void readersAreWokenBeforeProducersGoOn() {
        Connection listening = TestBed.listen(session);
        bed.store.hold();
        int[] wokenThen = new int[1];
        CompletionStage<Void> sent = send(Wire.notice("a"));
        sent.thenRun(() -> wokenThen[0] = listening.woken);
        bed.store.next().become(Fate.DONE);
        assertThat(wokenThen[0]).isOne();
    }

    @Test
    void aProducerThatWaitsForEachCommitSendsOneByOne() {
        Connection listening = TestBed.listen(session);
        bed.store.hold();
        send(Wire.notice("a")).thenCompose(done -> send(Wire.notice("b"))).thenCompose(done -> send(Wire.notice("c")));
        for (String next : List.of("a", "b", "c")) {
            bed.store.next().become(Fate.DONE);
            assertThat(listening.read()).endsWith(next);
        }
    }

    @Test
    void aCallRunsBeforeTheStoreKnowsItAndItsClientIsToldAfterwards() {
        bed.store.hold();
        Connection post = bed.post(session, 1);
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(bed.backend.life().calls).hasSize(1);
        assertThat(post.reader.recorded()).isFalse();
        assertThat(bed.store.appended).isEmpty();
        bed.store.next().become(Fate.DONE);
        assertThat(post.woken).isOne();
        assertThat(post.reader.recorded()).isTrue();
        bed.store.release();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void aCallThatEndsSoonIsOneEventForTheStore() {
        Call call = TestBed.accepted(session.call(TestBed.requests(1)));
        call.dispatch();
        assertThat(bed.store.appended).isEmpty();
        bed.backend.life().call(1).respond();
        assertThat(bed.store.appended).hasSize(1);
        assertThat(bed.store.appended.get(0).events()).hasSize(1);
        assertThat(bed.store.appended.get(0).changes()).isEmpty();
        assertThat(call.reader().orElseThrow().recorded()).isTrue();
    }

    @Test
    void aCallWhoseStartWasNotStoredGoesOnAndIsStoredLater() {
        bed.store.hold();
        Connection post = bed.post(session, 1);
        bed.store.next().become(Fate.LOST);
        assertThat(post.reader.recorded()).isFalse();
        bed.store.release();
        assertThat(post.reader.recorded()).isTrue();
        assertThat(post.woken).isPositive();
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    @Test
    void aCallWhoseStartAndResponseWereNotStoredEndsWithAnError() {
        bed.store.decree(Fate.LOST);
        Call call = TestBed.accepted(session.call(TestBed.requests(1)));
        call.dispatch();
        bed.backend.life().call(1).respond();
        Connection post = new Connection(call.reader().orElseThrow());
        assertThat(post.read()).containsExactly("error 1 -32603: the response could not be stored");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void whileTheStoreFailsNoCallRunsThatItDoesNotKnow() {
        Session other = bed.open();
        bed.store.refuseAppends = true;
        assertThat(send(Wire.notice("a"))).isCompletedExceptionally();
        assertThat(session.call(TestBed.requests(1)).toCompletableFuture()).isCompletedExceptionally();
        assertThat(bed.backend.lives).allMatch(life -> life.calls.isEmpty());
        bed.store.refuseAppends = false;
        bed.pass(Duration.ofSeconds(4));
        Connection post = bed.post(other, 2);
        bed.backend.life().call(2).respond();
        assertThat(post.read()).containsExactly("result 2");
    }

    /** A session whose calls have no streams of their own: their client hears that they were taken. */
    private Session listensOnly() {
        Session listensOnly = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        TestBed.accepted(listensOnly.call(List.of(Wire.initialize()))).dispatch();
        return listensOnly;
    }

    @Test
    void overHttpSseACallIsTakenWhenTheStoreKnowsIt() {
        Session session = listensOnly();
        bed.store.hold();
        CompletionStage<Call.Outcome> opening = session.call(TestBed.requests(1));
        assertThat(opening.toCompletableFuture()).isNotDone();
        bed.store.next().become(Fate.DONE);
        Call call = TestBed.accepted(opening);
        assertThat(bed.backend.life().calls).isEmpty();
        call.dispatch();
        assertThat(bed.backend.life().calls).hasSize(1);
        bed.store.release();
        bed.backend.life().call(1).respond();
    }

    @Test
    void overHttpSseAnIdIsTakenWhileItsCallIsBeingOpened() {
        Session session = listensOnly();
        bed.store.hold();
        session.call(TestBed.requests(1));
        assertThat(TestBed.now(session.call(TestBed.requests(1)))).isEqualTo(new Call.Duplicate(Wire.id(1)));
    }

    @Test
    void aCallThatTheStoreRefusesLeavesNothingBehind() {
        Session session = listensOnly();
        Connection listening = TestBed.listen(session);
        bed.store.decree(Fate.LOST);
        assertThat(session.call(TestBed.requests(1)).toCompletableFuture()).isCompletedExceptionally();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        TestBed.accepted(session.call(TestBed.requests(1))).dispatch();
        bed.backend.life().call(1).respond();
        assertThat(listening.read()).endsWith("result 1");
    }

    @Test
    void aCallThatIsCancelledWhileItIsBeingOpenedEndsOnceWhateverTheStoreDoes() {
        Session session = listensOnly();
        bed.store.hold();
        CompletionStage<Call.Outcome> opening = session.call(TestBed.requests(1));
        session.cancel(Wire.id(1), Wire.cancelled(1));
        bed.store.next().become(Fate.LOST);
        bed.store.release();
        assertThat(opening.toCompletableFuture()).isCompletedExceptionally();
        assertThat(bed.engine.stats().runningCalls()).isZero();

        bed.store.hold();
        CompletionStage<Call.Outcome> second = session.call(TestBed.requests(2));
        session.cancel(Wire.id(2), Wire.cancelled(2));
        bed.store.release();
        TestBed.accepted(second).dispatch();
        assertThat(bed.backend.life().calls).isEmpty();
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void aCallThatIsCancelledBeforeTheStoreKnowsItEnds() {
        bed.store.hold();
        Connection post = bed.post(session, 1);
        session.cancel(Wire.id(1), Wire.cancelled(1));
        assertThat(post.reason()).isEqualTo(EndReason.CANCELLED);
        bed.store.next().become(Fate.LOST);
        bed.store.release();
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void aSessionThatEndsWhileACallIsBeingOpenedRefusesIt() {
        Session session = listensOnly();
        bed.store.hold();
        CompletionStage<Call.Outcome> opening = session.call(TestBed.requests(1));
        session.terminate();
        bed.store.release();
        assertThat(TestBed.now(opening)).isInstanceOf(Call.Closed.class);
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.news.heard).endsWith("closed: TERMINATED");
    }

    @Test
    void aResponseOnItsWayIsDeliveredBeforeTheSessionEnds() {
        Connection post = bed.post(session, 1);
        bed.store.hold();
        bed.backend.life().call(1).respond();
        session.terminate();
        assertThat(bed.news.heard).containsExactly("created");
        bed.store.release();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(bed.news.heard).endsWith("closed: TERMINATED");
    }

    @Test
    void aResponseIsAnAnswerOnlyOnceItIsCommitted() {
        Connection post = bed.post(session, 1);
        bed.store.hold();
        bed.backend.life().call(1).respond();
        assertThat(bed.engine.stats().runningCalls()).isOne();
        assertThat(post.read()).isEmpty();
        assertThat(post.end).isEmpty();
        bed.store.release();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void overHttpSseAnIdIsTakenUntilItsAnswerIsCommitted() {
        Session session = listensOnly();
        TestBed.accepted(session.call(TestBed.requests(1))).dispatch();
        bed.store.hold();
        bed.backend.life().call(1).respond();
        assertThat(TestBed.now(session.call(TestBed.requests(1)))).isEqualTo(new Call.Duplicate(Wire.id(1)));
        bed.store.release();
        TestBed.accepted(session.call(TestBed.requests(1))).dispatch();
    }

    @Test
    void aQuestionThatIsSettledOnItsWayIsNotHeldForEver() {
        bed.store.hold();
        send(Wire.question("q"));
        session.answer(Wire.answer(new RequestId("q")));
        bed.store.release();
        Connection listening = TestBed.listen(session);
        listening.read();
        listening.handover();
        assertThat(TestBed.listen(session).read()).isEmpty();
    }

    @Test
    void aNotificationOfTheJournalIsCommittedAndHandedOver() {
        bed.store.hold();
        CompletableFuture<Optional<Refusal>> stage = session.notify(
                        Wire.notification("notifications/initialized", new JournalChange.Put("initialized")))
                .toCompletableFuture();
        assertThat(stage).isNotDone();
        bed.store.release();
        assertThat(stage).isCompletedWithValue(Optional.empty());
        assertThat(bed.backend.life().heard).containsExactly("notifications/initialized");
    }
}
