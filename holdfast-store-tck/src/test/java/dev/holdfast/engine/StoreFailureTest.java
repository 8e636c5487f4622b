package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.engine.TestStore.Fate;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store that fails, and how the log finds out what it holds. */
class StoreFailureTest {
    private static final String UNSTORED = "error 1 -32603: the response could not be stored";

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

    private Epoch epoch() {
        return ((LiveSession) session).log().epoch();
    }

    private void fates(Fate... fates) {
        bed.store.decree(fates);
    }

    /** The calls that run as far as the store knows. */
    private Set<StreamId> running() {
        return TestBed.now(bed.store.kept.look(SessionKey.of(session.id(), "")))
                .orElseThrow()
                .record()
                .running()
                .keySet();
    }

    @Test
    void anAppendThatFailedButHappenedIsCommitted() {
        Connection listening = TestBed.listen(session);
        fates(Fate.KEPT);
        assertThat(send(Wire.notice("a"))).isCompleted();
        assertThat(listening.read()).containsExactly("a");
        assertThat(epoch().counter()).isEqualTo(2);
        send(Wire.notice("b"));
        assertThat(listening.read()).containsExactly("a", "b");
    }

    @Test
    void anAppendThatFailedIsToldToItsProducerAndItsPlaceIsFree() {
        Connection listening = TestBed.listen(session);
        fates(Fate.LOST);
        assertThat(send(Wire.notice("a"))).isCompletedExceptionally();
        assertThat(send(Wire.notice("b"))).isCompleted();
        assertThat(listening.read()).containsExactly("b");
        assertThat(listening.cursor().offset()).isOne();
        assertThat(listening.cursor().epoch()).isEqualTo(epoch());
    }

    @Test
    void whatStoodBehindAFailedAppendFailsWithIt() {
        bed.store.hold();
        List<CompletableFuture<Void>> stages =
                List.of(send(Wire.notice("a")), send(Wire.notice("b")), send(Wire.notice("c")));
        bed.store.next().become(Fate.KEPT);
        assertThat(stages.get(0)).isNotDone();
        assertThat(stages.get(1)).isCompletedExceptionally();
        assertThat(stages.get(2)).isCompletedExceptionally();
        assertThat(send(Wire.notice("d"))).isCompletedExceptionally();
        bed.store.release();
        assertThat(stages.get(0)).isCompleted();
        send(Wire.notice("e"));
        assertThat(TestBed.listen(session).read()).containsExactly("a", "e");
    }

    @Test
    void anAppendThatArrivesAfterTheClaimIsFenced() {
        bed.store.hold();
        CompletableFuture<Void> late = send(Wire.notice("late"));
        TestStore.Pending<?> append = bed.store.next();
        append.fail();
        bed.store.release();
        assertThat(late).isCompletedExceptionally();
        append.happen();
        send(Wire.notice("b"));
        assertThat(TestBed.listen(session).read()).containsExactly("b");
    }

    @Test
    void aClaimIsRepeatedWithGrowingPatience() {
        fates(Fate.LOST, Fate.LOST, Fate.KEPT, Fate.LOST);
        send(Wire.notice("a"));
        assertThat(send(Wire.notice("b"))).isCompletedExceptionally();
        bed.pass(Duration.ofSeconds(3));
        assertThat(send(Wire.notice("c"))).isCompleted();
        assertThat(TestBed.listen(session).read()).containsExactly("c");
        assertThat(epoch().counter()).isEqualTo(3);
    }

    /** False would say that there will never be one. */
    @Test
    void aNoteThatComesWhileTheStoreIsAwayFails() {
        Call call = ((Call.Accepted) TestBed.now(session.call(TestBed.requests(1)))).call();
        call.dispatch();
        fates(Fate.LOST, Fate.LOST);
        send(Wire.notice("a"));
        assertThat(call.note(new byte[] {1}).toCompletableFuture()).isCompletedExceptionally();
        bed.pass(Duration.ofSeconds(3));
        assertThat(TestBed.now(call.note(new byte[] {1}))).isTrue();
        bed.backend.life().call(1).respond();
        assertThat(TestBed.now(call.note(new byte[] {1}))).isFalse();
    }

    @Test
    void aCallThatRunsAndWhoseStartTheStoreDoesNotDecideIsRefusedWithinThreeSeconds() {
        bed.store.hold();
        Connection post = bed.post(session, 1);
        assertThat(post.reader.recorded()).isFalse();
        bed.pass(Duration.ofSeconds(3));
        assertThat(post.reason()).isEqualTo(EndReason.STORE_FAILED);
        assertThat(post.received).isEmpty();
        bed.store.release();
        bed.backend.life().call(1).respond();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(running()).isEmpty();
    }

    /** Its answer is dropped with its stream before it is stored. */
    @Test
    void aRefusedCallThatHasAnAnswerIsInNobodysWay() {
        assertTimeoutPreemptively(Duration.ofSeconds(30), () -> {
            try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 4000, 100, 0, 10))) {
                Session open = small.open();
                small.store.hold();
                Connection post = small.post(open, 1);
                small.backend.life().call(1).respond();
                small.pass(Duration.ofSeconds(3));
                assertThat(post.reason()).isEqualTo(EndReason.STORE_FAILED);
                post.inOrder();
                small.store.release();
                for (int i = 0; i < 40; i++) {
                    small.backend.life().sink.send(Wire.question("q" + i));
                }
                assertThat(small.news.heard).endsWith("closed: OVERFLOW");
            }
        });
    }

    @Test
    void aCallOfAStoreThatTakesClaimsButNoAppendsIsRefusedWithinThreeSeconds() {
        bed.store.refuseAppends = true;
        Connection post = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        bed.pass(Duration.ofSeconds(3));
        assertThat(post.reason()).isEqualTo(EndReason.STORE_FAILED);
        bed.store.refuseAppends = false;
        bed.pass(Duration.ofSeconds(10));
        assertThat(running()).isEmpty();
        Connection next = bed.post(session, 2);
        bed.backend.life().call(2).respond();
        assertThat(next.read()).containsExactly("result 2");
    }

    @Test
    void aCallThatWaitsBehindWhatTheStoreDoesNotDecideIsRefusedWithinThreeSeconds() {
        bed.store.hold();
        send(Wire.notice("a"));
        CompletableFuture<Call.Outcome> call = session.call(TestBed.requests(1)).toCompletableFuture();
        assertThat(call).isNotDone();
        bed.pass(Duration.ofSeconds(3));
        assertThat(call).isCompletedExceptionally();
        bed.store.release();
        assertThat(running()).isEmpty();
    }

    @Test
    void aStoreThatStaysAwayForMinutesIsWaitedFor() {
        Connection listening = TestBed.listen(session);
        Connection post = bed.post(session, 1);
        bed.store.hold();
        CompletionStage<Void> sent = send(Wire.notice("a"));
        for (int i = 0; i < 20; i++) {
            bed.store.next().become(Fate.LOST);
            bed.pass(Duration.ofSeconds(10));
        }
        assertThat(sent).isCompletedExceptionally();
        assertThat(session.call(TestBed.requests(2))).isCompletedExceptionally();
        bed.store.release();
        bed.pass(Duration.ofSeconds(4));
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(send(Wire.notice("b"))).isCompleted();
        assertThat(listening.read()).containsExactly("b");
    }

    @Test
    void whatNobodyWaitsForAnyMoreMayBeInTheLogAfterAll() {
        Connection listening = TestBed.listen(session);
        bed.store.hold();
        CompletionStage<Void> sent = send(Wire.notice("a"));
        bed.store.next().become(Fate.KEPT);
        for (int i = 0; i < 7; i++) {
            bed.store.next().become(Fate.LOST);
            bed.pass(Duration.ofSeconds(10));
        }
        assertThat(sent).isCompletedExceptionally();
        bed.store.release();
        assertThat(listening.read()).containsExactly("a");
    }

    @Test
    void nobodyWaitsForAStoreThatComesAndGoes() {
        bed.store.hold();
        send(Wire.notice("a"));
        for (int i = 0; i < 7; i++) {
            bed.store.next().become(Fate.LOST);
            bed.pass(Duration.ofSeconds(10));
        }
        bed.store.next().become(Fate.DONE);
        CompletableFuture<Void> sent = send(Wire.notice("b"));
        bed.store.next().become(Fate.KEPT);
        assertThat(sent).isCompletedExceptionally();
        bed.pass(Duration.ofSeconds(10));
        bed.store.release();
        assertThat(TestBed.listen(session).read()).containsExactly("b");
    }

    @Test
    void aCallThatNobodyWaitsForAnyMoreEndsThoughTheStoreHasIt() {
        Session session = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        TestBed.accepted(session.call(List.of(Wire.initialize()))).dispatch();
        bed.store.hold();
        CompletionStage<Call.Outcome> call = session.call(TestBed.requests(2));
        bed.store.next().become(Fate.KEPT);
        for (int i = 0; i < 7; i++) {
            bed.store.next().become(Fate.LOST);
            bed.pass(Duration.ofSeconds(10));
        }
        assertThat(call).isCompletedExceptionally();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        bed.store.release();
        bed.pass(Duration.ofSeconds(4));
        assertThat(TestBed.now(bed.store.kept.claim(((LiveSession) session).key(), 7))
                        .orElseThrow()
                        .record()
                        .running())
                .isEmpty();
    }

    @Test
    void aJournaledNotificationThatCannotBeStoredFailsAsTheStoreDoes() {
        bed.store.decree(Fate.LOST);
        assertThat(session.notify(Wire.notification("initialized", new JournalChange.Put("initialized"))))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(StoreUnavailableException.class);
    }

    @Test
    void aChangeOfTheJournalWhoseAcknowledgementWasLostReachesAFreshBackend() {
        String setLevel = "logging/setLevel";
        Call call = TestBed.accepted(
                session.call(List.of(Wire.request(Wire.id(1), setLevel, new JournalChange.Put(setLevel)))));
        Connection post = new Connection(call.reader().orElseThrow());
        call.dispatch();
        fates(Fate.KEPT);
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        bed.backend.life().sink.lost("it died");
        bed.post(session, 2);
        assertThat(bed.backend.lives).hasSize(2);
        assertThat(bed.backend.life().heard).containsExactly(setLevel + " 1", "tools/call 2");
    }

    @Test
    void aRemovalFromTheJournalWhoseAcknowledgementWasLostIsKept() {
        session.notify(Wire.notification("set", new JournalChange.Put("key")));
        Call call = TestBed.accepted(
                session.call(List.of(Wire.request(Wire.id(1), "remove", new JournalChange.Remove("key")))));
        Connection post = new Connection(call.reader().orElseThrow());
        call.dispatch();
        fates(Fate.KEPT);
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        bed.backend.life().sink.lost("it died");
        bed.post(session, 2);
        assertThat(bed.backend.life().heard).containsExactly("tools/call 2");
    }

    @Test
    void aStoreThatHasLostTheSessionEndsIt() {
        bed.store.kept.delete(((LiveSession) session).key());
        send(Wire.notice("a"));
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.news.heard).endsWith("closed: STORE_FAILED");
    }

    @Test
    void aResponseThatWasNotStoredIsReplacedByAnError() {
        Connection post = bed.post(session, 1);
        fates(Fate.LOST);
        assertThat(bed.backend.life().call(1).respond().toCompletableFuture()).isCompletedExceptionally();
        assertThat(post.read()).containsExactly(UNSTORED);
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void aClientIsNotSentBackToAStreamThatTheStoreDoesNotKnow() {
        try (TestBed durable = TestBed.durable()) {
            Session before = durable.open();
            durable.store.refuseAppends = true;
            Connection post = durable.post(before, 1);
            assertThat(post.reader.recorded()).isFalse();
            CompletableFuture<Void> drained =
                    durable.engine.drain(Duration.ZERO).toCompletableFuture();
            durable.pass(Duration.ofSeconds(12));
            assertThat(drained).isCompleted();
            assertThat(durable.news.heard).endsWith("parked");
            assertThat(post.reason()).isEqualTo(EndReason.STORE_FAILED);
            assertThat(post.headDue()).isFalse();
            durable.store.refuseAppends = false;
        }
    }

    @Test
    void aResponseThatComesWhileTheStoreIsAwayIsReplacedByAnErrorToo() {
        Connection post = bed.post(session, 1);
        bed.store.hold();
        send(Wire.notice("a"));
        bed.store.next().become(Fate.LOST);
        bed.backend.life().call(1).respond();
        assertThat(post.read()).isEmpty();
        bed.store.release();
        assertThat(post.read()).containsExactly(UNSTORED);
    }

    @Test
    void aResponseInACancelledBatchThatWasNotStoredIsReplacedBeforeTheStreamEnds() {
        Connection post = bed.post(session, 1, 2);
        bed.store.hold();
        bed.backend.life().call(1).respond();
        session.cancel(Wire.id(2), Wire.cancelled(2));
        assertThat(post.read()).isEmpty();
        assertThat(post.end).isEmpty();
        bed.store.next().become(Fate.LOST);
        assertThat(post.read()).isEmpty();
        assertThat(post.end).isEmpty();
        bed.store.release();
        assertThat(post.read()).containsExactly(UNSTORED);
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void theEndOfACancelledCallReachesTheStoreAfterAll() {
        bed.post(session, 1);
        fates(Fate.LOST);
        session.cancel(Wire.id(1), Wire.cancelled(1));
        assertThat(bed.store.appended)
                .flatExtracting(Append::changes)
                .anyMatch(change -> change instanceof RecordChange.CallEnded);
    }

    @Test
    void aReaderOfACancelledStreamEndsThoughItsLastEventWasNotStored() {
        Connection post = bed.post(session, 1);
        bed.store.hold();
        bed.backend.life().call(1).sink().send(Wire.progress("p"));
        session.cancel(Wire.id(1), Wire.cancelled(1));
        assertThat(post.read()).isEmpty();
        assertThat(post.end).isEmpty();
        int woken = post.woken;
        bed.store.next().become(Fate.LOST);
        bed.store.release();
        assertThat(post.woken).isGreaterThan(woken);
        assertThat(post.reason()).isEqualTo(EndReason.CANCELLED);
    }

    @Test
    void whatWasDroppedIsForgottenByTheStoreThoughTheAppendThatSaidSoFailed() {
        Connection post = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        post.reason();
        post.inOrder();
        session.resume(post.cursor());
        fates(Fate.LOST);
        send(Wire.notice("a"));
        send(Wire.notice("b"));
        assertThat(TestBed.now(bed.store.read(((LiveSession) session).key(), post.cursor().stream(), 0, 1000)))
                .isEmpty();
    }
}
