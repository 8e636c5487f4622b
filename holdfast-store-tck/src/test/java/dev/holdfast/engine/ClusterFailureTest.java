package dev.holdfast.engine;

import static dev.holdfast.cluster.SharedSessionStore.NO_TOKEN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The store fails one node of several, as a whole or for one session. */
class ClusterFailureTest {
    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    @Test
    void aLeaseThatOneLateAnswerWouldEndIsRefused() {
        assertThatThrownBy(() -> bed.start(network -> network.answersWithin = ClusterBed.LEASE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "lease must be longer than the PT3S for which the store may not answer, got PT3S: give the node a"
                                + " longer lease, or the store a shorter timeout");
        assertThat(bed.start(network -> network.answersWithin = ClusterBed.LEASE.minusMillis(1))
                        .open()
                        .state())
                .isEqualTo(SessionState.IDLE);
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

    /** A server that is full may be so for hours, and a client that knows can go elsewhere. */
    @Test
    void aClientThatFindsTheStoreFullIsToldSoAndLearnsNothingOfItsCall() {
        Session session = first.open();
        fillStore();
        Connection call = bed.post(session, 1);
        bed.pass(Duration.ofSeconds(2));
        call.read();
        assertThat(call.end).as("there may be room soon").isEmpty();
        bed.pass(Duration.ofSeconds(3));
        assertThat(call.reason()).isEqualTo(EndReason.STORE_FAILED);
        assertThat(session.call(TestBed.requests(2)).toCompletableFuture())
                .as("a call that comes while the store is known to be full")
                .isCompletedExceptionally();

        bed.pass(Duration.ofSeconds(10));
        assertThat(bed.record(session).running()).as("there is room again").isEmpty();
        assertThat(bed.post(session, 3).end).isEmpty();
        assertThat(first.backend.life().calls).hasSize(2);
    }

    @Test
    void aSessionWhoseCallsCannotBeEndedInAFullStoreIsDeletedAfterSomeSeconds() {
        Session session = first.open();
        Connection call = bed.post(session, 1);
        Session there = second.find(session);
        first.store.decree(Collections.nCopies(400, FlakyCluster.Fate.LOST).toArray(FlakyCluster.Fate[]::new));
        first.backend.life().call(1).sink().send(Wire.progress("half"));
        CompletableFuture<Void> terminated = session.terminate().toCompletableFuture();
        bed.pass(Duration.ofSeconds(2));
        assertThat(terminated).as("there may be room soon").isNotDone();

        bed.pass(Duration.ofSeconds(3));
        assertThat(terminated).isCompleted();
        assertThat(bed.read(call)).as("its client").last().asString().startsWith("error 1 ");
        assertThat(TestBed.now(bed.shared.look(SessionKey.of(session.id(), ""))))
                .isEmpty();
        assertThat(there.state()).isEqualTo(SessionState.CLOSED);
    }

    @Test
    void aNotificationThatFindsTheStoreFullIsInTheJournalWhenThereIsRoomForTheBackendHasIt() {
        Session session = first.open();
        InboundMessage notification = Wire.notification("notifications/x", new JournalChange.Put("x"));
        fillStore();
        assertToldSoAfterSomeSeconds(session.notify(notification));
        assertThat(session.notify(notification).toCompletableFuture()).isCompletedExceptionally();
        assertThat(first.backend.life().heard).containsOnlyOnce("notifications/x");

        bed.pass(Duration.ofSeconds(10));
        assertThat(bed.record(session).journal()).containsKey("x");
    }

    private void fillStore() {
        first.store.decree(Collections.nCopies(40, FlakyCluster.Fate.LOST).toArray(FlakyCluster.Fate[]::new));
    }

    private void assertToldSoAfterSomeSeconds(CompletionStage<?> stage) {
        bed.pass(Duration.ofSeconds(2));
        assertThat(stage.toCompletableFuture()).isNotDone();
        bed.pass(Duration.ofSeconds(3));
        assertThat(stage.toCompletableFuture())
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(StoreUnavailableException.class);
    }

    @Test
    void callsThatWaitBehindAStuckCommitLeaveNothingWhenTheirClientsAreToldSo() {
        Session calling = first.open();
        fillStore();
        bed.post(calling, 100);
        List<CompletableFuture<Call.Outcome>> calls = IntStream.rangeClosed(1, 50)
                .mapToObj(id -> calling.call(TestBed.requests(id)).toCompletableFuture())
                .toList();
        bed.pass(Duration.ofSeconds(5));
        assertThat(calls).allMatch(CompletableFuture::isCompletedExceptionally);

        bed.pass(Duration.ofSeconds(20));
        assertThat(bed.record(calling).running()).isEmpty();
        assertThat(first.backend.life().calls).hasSize(1);
        assertThat(first.store.tried)
                .as("the first start, and its end")
                .allSatisfy(append -> assertThat(append.changes()).hasSizeLessThanOrEqualTo(2));
    }

    @Test
    void aNodeAsksForItsLeaseAgainAfterAnError() {
        first.store.leasesBreak = true;
        bed.pass(Duration.ofMillis(1_500));
        first.store.leasesBreak = false;
        bed.pass(Duration.ofSeconds(5));
        assertThat(first.engine.mayWrite()).as("it was renewed").isTrue();

        first.store.leasesBreak = true;
        bed.pass(Duration.ofSeconds(5));
        assertThat(first.engine.mayWrite()).isFalse();
        first.store.leasesBreak = false;
        bed.pass(Duration.ofSeconds(2));
        assertThat(first.engine.mayWrite()).as("another was begun").isTrue();
    }

    @Test
    void aCommitIsSentAgainAfterAnError() {
        Connection listening = bed.listen(second.find(first.open()));
        first.store.decree(FlakyCluster.Fate.BROKEN);
        CompletionStage<Void> sent = first.backend.life().sink.send(Wire.notice("a"));
        bed.pass(Duration.ofSeconds(1));
        TestBed.now(sent);
        assertThat(bed.read(listening)).containsExactly("a");
    }

    @Test
    void whatAnotherNodeSendsIsDoneThoughTheExecutorThrowsAnError() {
        Session there = second.find(first.open());
        ask(there, "\"a\"");
        first.executor = task -> {
            throw new NoClassDefFoundError("expected");
        };
        there.answer(Wire.answer(new RequestId("\"a\"")));
        bed.settle();
        assertThat(first.backend.life().heard).contains("answer \"a\"");
    }

    @ParameterizedTest
    @EnumSource(names = {"LOST", "REFUSED", "UNANSWERED"})
    void anAnswerThatMayNotHaveReachedTheNodeThatAskedIsNotTaken(FlakyCluster.Fate fate) {
        Session there = second.find(first.open());
        ask(there, "\"a\"");
        InboundMessage answer = Wire.answer(new RequestId("\"a\""));
        second.store.decreeSendings(fate);
        assertThat(there.answer(answer).toCompletableFuture())
                .isCompletedExceptionally()
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(StoreUnavailableException.class);

        assertThat(TestBed.now(there.answer(answer))).isTrue();
        bed.settle();
        assertThat(first.backend.life().heard)
                .filteredOn(heard -> heard.startsWith("answer"))
                .as("however often it comes")
                .containsExactly("answer \"a\"");
    }

    @Test
    void anAnswerForANodeThatHasDiedIsNotWaitedFor() {
        Session there = second.find(first.open());
        ask(there, "\"a\"");
        first.die();
        bed.pass(ClusterBed.LEASE.plusSeconds(1));
        assertThat(TestBed.now(there.answer(Wire.answer(new RequestId("\"a\"")))))
                .isFalse();
    }

    @Test
    void aSessionThatAnotherNodeHasEndedRefusesNoCallOfOthers() {
        Session ended = first.open();
        Session other = first.open();
        first.store.deaf = true;
        second.find(ended).terminate();
        first.backend.lives.get(0).sink.send(Wire.notice("a"));
        assertThat(bed.post(other, 1).end).isEmpty();
        bed.pass(Duration.ofSeconds(1));
        assertThat(first.news.heard).contains("closed: TERMINATED");
    }

    @Test
    void whoReadsACallIsSupersededThoughNobodyCouldSayThatToItsNode() {
        ClusterBed.Node third = bed.start(network -> {});
        bed.settle();
        Session here = first.open();
        Connection call = bed.post(here, 1);
        call.broken();
        Connection before = bed.resume(second.find(here), call.cursor());
        third.store.decreeSendings(FlakyCluster.Fate.LOST);
        Connection after = bed.resume(third.find(here), call.cursor());
        bed.pass(Duration.ofSeconds(4));
        assertThat(before.aborted).isTrue();
        assertThat(after.aborted).isFalse();
        first.backend.life().call(1).respond();
        assertThat(bed.read(after)).containsExactly("result 1");
    }

    @Test
    void whoReadsACallIsSupersededThoughTheAnswerToWhoTookItsTokenWasLost() {
        ClusterBed.Node third = bed.start(network -> {});
        bed.settle();
        Session here = first.open();
        Connection call = bed.post(here, 1);
        call.broken();
        Connection before = bed.resume(second.find(here), call.cursor());
        takeInVain(here, call);
        Connection after = bed.resume(third.find(here), call.cursor());
        bed.pass(Duration.ofSeconds(4));
        assertThat(before.aborted).isTrue();
        assertThat(after.aborted).isFalse();
    }

    @Test
    void whoReadsACallFirstIsSupersededThoughTheAnswerToWhoTookItsTokenWasLost() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        takeInVain(here, before);
        Connection after = bed.resume(second.find(here), before.cursor());
        assertThat(before.aborted).isTrue();
        first.backend.life().call(1).respond();
        assertThat(bed.read(after)).containsExactly("result 1");
    }

    @Test
    void aDrainIsOverThoughTheOthersCannotBeToldThatTheNodeLeaves() {
        bed.listen(first.open());
        first.store.fail(FlakyCluster.Question.END, true);
        CompletionStage<Void> drained = first.engine.drain(Duration.ZERO);
        bed.pass(Duration.ofMinutes(1));
        assertThat(drained.toCompletableFuture()).isCompleted();
    }

    /** A node has taken the token of a call's stream, and the answer to that was lost. */
    private void takeInVain(Session session, Connection call) {
        SessionKey key = SessionKey.of(session.id(), "");
        Epoch epoch = bed.members(session).get(0).epoch();
        StreamId stream = call.cursor().stream();
        long before = TestBed.now(bed.shared.token(key, epoch, stream, Part.READER, NO_TOKEN, NO_TOKEN));
        TestBed.now(bed.shared.token(key, epoch, stream, Part.READER, before, Long.MAX_VALUE));
    }

    /** Lets the first node's backend ask the client something, which listens to a session on the second node. */
    private void ask(Session there, String question) {
        Connection listening = bed.listen(there);
        first.backend.life().sink.send(Wire.question(question));
        assertThat(bed.read(listening)).containsExactly("question " + question);
    }
}
