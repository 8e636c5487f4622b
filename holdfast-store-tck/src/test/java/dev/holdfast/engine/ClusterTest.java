package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Three nodes over one store: a session is on each that its requests reach, and its client notices nothing. */
class ClusterTest {
    /** A session was dated by the clock of the node's machine, and the store forgot it at once, or in years. */
    @ParameterizedTest
    @ValueSource(ints = {-87_600, -2, 2, 87_600})
    void aClockThatIsFarOffEndsNoSessionAndKeepsNone(int hours) {
        try (ClusterBed off = ClusterBed.ahead(2, Duration.ofHours(hours))) {
            Session session = off.node(0).open();
            assertThat(off.post(session, 1).end).isEmpty();
            assertThat(off.node(1).has(session)).isTrue();
            long left = off.record(session).expiresAt() - off.time.millis();
            assertThat(Duration.ofMillis(left)).isBetween(Duration.ofSeconds(1), Duration.ofHours(2));
        }
    }

    @AutoClose
    private final ClusterBed bed = new ClusterBed(3);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final ClusterBed.Node third = bed.node(2);

    @Test
    void aCallRunsWhereItArrivesAndDisturbsNobody() {
        Session here = first.open();
        Connection running = bed.post(here, 1);
        Session there = second.find(here);
        Connection other = bed.post(there, 2);
        second.backend.life().call(2).respond();
        assertThat(bed.read(other)).containsExactly("result 2");
        assertThat(other.reason()).isEqualTo(EndReason.COMPLETED);
        first.backend.life().call(1).respond();
        assertThat(bed.read(running)).containsExactly("result 1");
        assertThat(first.backend.lives).hasSize(1);
        assertThat(second.backend.life().request.initialize().method()).isEqualTo("initialize");
        assertThat(bed.members(here)).hasSize(2);
        assertThat(first.news.heard).doesNotContain("closed: TAKEN_OVER");
    }

    @Test
    void aCallIsReadOnWhereverItsClientComesBack() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        assertThat(bed.read(before)).containsExactly("1");
        before.broken();
        first.backend.life().call(1).sink().send(Wire.progress("2"));
        Connection after = bed.resume(second.find(here), before.cursor());
        assertThat(bed.read(after)).containsExactly("2");
        first.backend.life().call(1).sink().send(Wire.progress("3"));
        assertThat(bed.read(after)).containsExactly("2", "3");
        first.backend.life().call(1).respond();
        assertThat(bed.read(after)).containsExactly("2", "3", "result 1");
        assertThat(after.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(second.backend.lives)
                .as("to read costs no call of the backend")
                .allSatisfy(life -> assertThat(life.calls).isEmpty());
    }

    @Test
    void aCompleteStreamIsReadOnAnyNodeAndThenOver() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        first.backend.life().call(1).sink().send(Wire.progress("1"));
        bed.read(before);
        before.broken();
        first.backend.life().call(1).respond();
        Connection after = bed.resume(second.find(here), before.cursor());
        assertThat(bed.read(after)).containsExactly("result 1");
        assertThat(after.reason()).isEqualTo(EndReason.COMPLETED);
        after.inOrder();
        bed.settle();
        assertThat(TestBed.now(third.find(here).resume(after.cursor()))).isInstanceOf(Resume.Ended.class);
    }

    @Test
    void aCancelledCallEndsForWhoeverReadsItElsewhere() {
        Session here = first.open();
        Connection before = bed.post(here, 1);
        before.broken();
        Connection after = bed.resume(second.find(here), before.cursor());
        TestBed.now(third.find(here).cancel(Wire.id(1), Wire.cancelled(1)));
        bed.pass(Duration.ofSeconds(4));
        assertThat(bed.read(after)).isEmpty();
        assertThat(after.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void theListeningStreamCarriesWhatEveryNodeSendsInOneOrder() {
        Session here = first.open();
        Connection listening = bed.listen(here);
        Session there = second.find(here);
        bed.settle();
        first.backend.life().sink.send(Wire.notice("a"));
        second.backend.life().sink.send(Wire.notice("b"));
        first.backend.life().sink.send(Wire.notice("c"));
        assertThat(bed.read(listening)).containsExactly("a", "b", "c");
        listening.broken();
        second.backend.life().sink.send(Wire.notice("d"));
        Connection back = bed.resume(there, listening.cursor());
        first.backend.life().sink.send(Wire.notice("e"));
        assertThat(bed.read(back)).containsExactly("d", "e");
        assertThat(bed.events(here, StreamId.LISTENING))
                .extracting(event -> event.offset())
                .as("in the store")
                .endsWith(4L, 5L);
    }

    @Test
    void ofTwoReadersTheNewestReadsWhereverTheyAre() {
        Session here = first.open();
        Connection one = bed.listen(here);
        Connection two = bed.listen(second.find(here));
        bed.settle();
        assertThat(one.aborted).isTrue();
        assertThat(one.reason()).isEqualTo(EndReason.SUPERSEDED);
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(two)).containsExactly("a");
        Connection three = bed.listen(second.find(here));
        assertThat(two.aborted).isTrue();
        Connection four = bed.listen(here);
        bed.settle();
        assertThat(three.aborted).isTrue();
        assertThat(four.aborted).isFalse();
    }

    @Test
    void theFirstReaderOfACallIsSupersededToo() {
        Session here = first.open();
        Connection first = bed.post(here, 1);
        Connection other = bed.resume(second.find(here), first.cursor());
        bed.settle();
        assertThat(first.aborted).isTrue();
        Connection back = bed.resume(here, other.cursor());
        bed.settle();
        assertThat(other.aborted).isTrue();
        this.first.backend.life().call(1).respond();
        assertThat(bed.read(back)).containsExactly("result 1");
        assertThat(bed.read(other)).isEmpty();
    }

    @Test
    void whatIsSetOnOneNodeHoldsOnAll() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        RequestId level = new RequestId("7");
        Call call = TestBed.accepted(
                here.call(List.of(Wire.request(level, "logging/setLevel", new JournalChange.Put("logging/setLevel")))));
        call.dispatch();
        first.backend.life().call(7).sink().send(Wire.response(level));
        bed.settle();
        bed.post(there, 2);
        assertThat(second.backend.life().heard).containsSubsequence("logging/setLevel 7", "tools/call 2");
        bed.post(third.find(here), 3);
        assertThat(third.backend.life().heard).containsSubsequence("logging/setLevel 7", "tools/call 3");
        int heard = first.backend.life().heard.size();
        bed.post(here, 4);
        assertThat(first.backend.life().heard)
                .as("who has set it needs it not again")
                .hasSize(heard + 1);
    }

    /** A call on the second node that waits for its backend to take what was set on the first. */
    private CompletionStage<Call.Outcome> behindWhatWasSet(Session here, Session there) {
        bed.post(there, 1);
        RequestId level = new RequestId("7");
        Call call = TestBed.accepted(
                here.call(List.of(Wire.request(level, "logging/setLevel", new JournalChange.Put("logging/setLevel")))));
        call.dispatch();
        second.backend.answersReplayed = false;
        first.backend.life().call(7).sink().send(Wire.response(level));
        bed.settle();
        CompletionStage<Call.Outcome> waiting = there.call(TestBed.requests(2));
        bed.settle();
        assertThat(waiting.toCompletableFuture()).isNotDone();
        second.backend.answersReplayed = true;
        return waiting;
    }

    @Test
    void aCallWaitsNoLongerForABackendThatDiesBeforeItHasTakenWhatOtherNodesHaveSet() {
        Session here = first.open();
        CompletionStage<Call.Outcome> waiting = behindWhatWasSet(here, second.find(here));
        second.backend.life().sink.lost("it died");
        Connection connection = bed.connected(waiting);
        assertThat(second.backend.lives).hasSize(2);
        assertThat(second.backend.life().heard).containsExactly("logging/setLevel 7", "tools/call 2");
        second.backend.life().call(2).respond();
        assertThat(bed.read(connection)).containsExactly("result 2");
    }

    @Test
    void norForOneThatEndsWithItsSession() {
        Session here = first.open();
        CompletionStage<Call.Outcome> waiting = behindWhatWasSet(here, second.find(here));
        here.terminate();
        bed.settle();
        assertThat(bed.read(bed.connected(waiting)))
                .containsExactly("error 2 -32603: the session has ended: terminated by the client");
    }

    @Test
    void aSessionThatIsEndedOnOneNodeIsNowhere() {
        Session here = first.open();
        Session there = second.find(here);
        Connection listening = bed.listen(there);
        Connection call = bed.post(there, 1);
        CompletionStage<Void> ended = here.terminate();
        bed.settle();
        TestBed.now(ended);
        assertThat(listening.reason()).isEqualTo(EndReason.TERMINATED);
        assertThat(call.reason()).isEqualTo(EndReason.TERMINATED);
        bed.nodes.forEach(node -> assertThat(node.has(here)).isFalse());
        assertThat(second.backend.life().closed).isOne();
    }

    @Test
    void anAnswerFindsTheNodeThatAsked() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        first.backend.life().sink.send(Wire.question("\"q\""));
        assertThat(bed.read(listening)).containsExactly("question \"q\"");
        assertThat(TestBed.now(third.find(here).answer(Wire.answer(new RequestId("\"q\"")))))
                .isTrue();
        bed.settle();
        assertThat(first.backend.life().heard).contains("answer \"q\"");
        listening.broken();
        assertThat(bed.read(bed.listen(here))).as("nobody is asked twice").isEmpty();
    }

    @Test
    void aListenerWithoutACursorBeginsAfterWhatIsConfirmed() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        first.backend.life().sink.send(Wire.notice("a"));
        bed.read(listening);
        listening.inOrder();
        bed.settle();
        first.backend.life().sink.send(Wire.notice("b"));
        first.backend.life().sink.send(Wire.question("\"q\""));
        Connection again = bed.listen(third.find(here));
        assertThat(bed.read(again)).endsWith("b", "question \"q\"");
    }

    @Test
    void aCommitWhoseAnswerIsLostIsMadeOnce() {
        Session here = first.open();
        Connection listening = bed.listen(second.find(here));
        first.store.decree(FlakyCluster.Fate.UNANSWERED, FlakyCluster.Fate.LOST);
        var sent = first.backend.life().sink.send(Wire.notice("a"));
        assertThat(sent.toCompletableFuture()).isNotDone();
        first.backend.life().sink.send(Wire.notice("b"));
        bed.pass(Duration.ofSeconds(1));
        TestBed.now(sent);
        assertThat(bed.read(listening)).containsExactly("a", "b");
        assertThat(bed.kept(here, StreamId.LISTENING)).containsExactly("a", "b");
    }

    @Test
    void aCopyThatNobodyUsesLeavesAndTheSessionStays() {
        Session here = first.open();
        Connection listening = bed.listen(here);
        Connection call = bed.post(second.find(here), 1);
        second.backend.life().call(1).respond();
        bed.read(call);
        call.inOrder();
        assertThat(bed.members(here)).hasSize(2);
        bed.pass(TestBed.IDLE.plusSeconds(5));
        assertThat(bed.members(here)).hasSize(1);
        assertThat(second.engine.size()).isZero();
        first.backend.life().sink.send(Wire.notice("a"));
        assertThat(bed.read(listening)).containsExactly("a");
        assertThat(second.has(here)).isTrue();
    }

    @Test
    void kindsStayWhatTheyAre() {
        Session here = first.open();
        first.backend.life().sink.send(Wire.question("\"q\""));
        assertThat(bed.events(here, StreamId.LISTENING))
                .singleElement()
                .satisfies(event -> assertThat(event.kind()).isEqualTo(EventKind.SERVER_REQUEST));
    }

    @Test
    void aCallDoesNotRunWhereTheStoreDoesNotTellWhatOtherNodesHaveSet() {
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        RequestId level = new RequestId("7");
        Call call = TestBed.accepted(
                here.call(List.of(Wire.request(level, "logging/setLevel", new JournalChange.Put("logging/setLevel")))));
        call.dispatch();
        second.store.fail(FlakyCluster.Question.LOOK, true);
        first.backend.life().call(7).sink().send(Wire.response(level));
        bed.settle();
        assertThat(there.call(TestBed.requests(2)).toCompletableFuture())
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(StoreUnavailableException.class);
        assertThat(second.engine.stats().runningCalls()).isOne();
        assertThat(second.engine.stats().connections()).isOne();
        bed.settle();
        assertThat(bed.record(here).running().values())
                .allSatisfy(running -> assertThat(running.requests()).containsExactly(Wire.id(1)));
        second.store.fail(FlakyCluster.Question.LOOK, false);
        Connection connection = bed.post(there, 2);
        assertThat(second.backend.life().heard).containsExactly("tools/call 1", "logging/setLevel 7", "tools/call 2");
        second.backend.life().call(2).respond();
        assertThat(bed.read(connection)).containsExactly("result 2");
    }

    @Test
    void whoComesBeforeANodeHasItsFirstLeaseWaitsForIt() {
        try (ClusterBed bed = new ClusterBed(0)) {
            ClusterBed.Node node = bed.start(FlakyCluster::shut);

            CompletionStage<Opening> opening = node.engine.open(Wire.initialize(), "", TestBed.LIFETIME);
            bed.settle();
            assertThat(opening.toCompletableFuture()).isNotDone();
            assertThat(node.engine.mayWrite()).isFalse();
            node.store.open();
            bed.settle();

            assertThat(node.engine.mayWrite()).isTrue();

            assertThat(TestBed.now(opening)).isInstanceOf(Opening.Opened.class);
        }
    }
}
