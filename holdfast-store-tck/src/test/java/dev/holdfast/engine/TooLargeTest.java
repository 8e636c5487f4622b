package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** A message that the store never takes for its size ends its own call, and nothing else. */
class TooLargeTest {
    private static final int MOST = 1 << 20;
    private static final String LARGE = "x".repeat(MOST + 1);

    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node node = bed.node(0);

    private static OutboundMessage large(int id) {
        return Wire.out(EventKind.RESPONSE, Wire.id(id), LARGE);
    }

    private Session limited() {
        node.store.mostBytes = MOST;
        bed.node(1).store.mostBytes = MOST;
        return node.open();
    }

    @Test
    void anAnswerThatIsTooLargeEndsItsCallWithAnErrorThatNamesTheLimit() {
        Session session = limited();
        Connection call = bed.post(session, 1);
        node.backend.life().call(1).sink().send(large(1));
        assertThat(bed.read(call))
                .containsExactly("error 1 -32603: the answer has 1048577 bytes, too many for the session store, which"
                        + " takes at most 1048576 at once");
        assertThat(call.end).isPresent();
        assertThat(bed.record(session).running()).isEmpty();
        bed.pass(Duration.ofSeconds(10));
        assertThat(node.store.tried.stream()
                        .filter(append -> append.events().stream().anyMatch(event -> event.bytes().length > MOST)))
                .as("how often it was sent")
                .hasSize(1);
        assertThat(node.backend.life().calls).as("how often the call ran").hasSize(1);
        assertThat(bed.members(session)).as("no new epoch").hasSize(1);
    }

    /** A call whose client has heard nothing of it, so that the store has not either. */
    private Connection unheard(Session session, InboundMessage request) {
        Call call = TestBed.accepted(session.call(List.of(request)));
        Connection connection = Connection.unheard(call.reader().orElseThrow());
        call.dispatch();
        bed.settle();
        return connection;
    }

    @Test
    void anAnswerThatIsTooLargeEndsACallThatTheStoreDoesNotKnowYetWithItsOwnError() {
        Session session = limited();
        Connection call = unheard(session, Wire.request(1));
        node.backend.life().call(1).sink().send(large(1));
        assertThat(bed.read(call))
                .singleElement()
                .asString()
                .startsWith("error 1 -32603: the answer has 1048577 bytes");
        assertThat(bed.record(session).running()).isEmpty();
        assertThat(bed.members(session)).as("no new epoch").hasSize(1);
    }

    @Test
    void theStoreKnowsOfACallWhoseRequestItDidNotTakeBeforeAnythingNamesItsStream() {
        node.backend.harmless = "reads";
        Session session = limited();
        Connection call = unheard(session, largeRequest(Wire.id(1), "reads"));
        int before = node.store.tried.size();
        node.store.shut();
        for (int i = 1; i <= 3; i++) {
            node.backend.life().call(1).sink().send(Wire.progress("x".repeat(200_000) + " " + i));
        }
        node.store.open();
        assertThat(bed.read(call)).hasSize(3);
        assertThat(node.store.tried.subList(before, node.store.tried.size()).stream()
                        .skip(1)
                        .findFirst()
                        .orElseThrow()
                        .changes())
                .as("behind the one that was too large")
                .anyMatch(RecordChange.CallStarted.class::isInstance);
    }

    @Test
    void whatGoesWithATooLargeAnswerIsStored() {
        Session session = limited();
        Connection listening = bed.listen(session);
        Connection[] calls = {bed.post(session, 1), bed.post(session, 2), bed.post(session, 3)};
        node.store.shut();
        node.backend.life().call(1).respond();
        node.backend.life().sink.send(Wire.notice("before"));
        node.backend.life().call(2).sink().send(large(2));
        node.backend.life().sink.send(Wire.notice("behind"));
        node.backend.life().call(3).respond();
        node.store.open();
        assertThat(bed.read(calls[0])).containsExactly("result 1");
        assertThat(bed.read(calls[1])).singleElement().asString().startsWith("error 2 ");
        assertThat(bed.read(calls[2])).containsExactly("result 3");
        assertThat(bed.read(listening)).containsExactly("before", "behind");
        assertThat(bed.kept(session, StreamId.LISTENING)).containsExactly("before", "behind");
        assertThat(bed.members(session)).as("no new epoch").hasSize(1);
    }

    @Test
    void progressThatIsTooLargeTakesNoAnswerWithIt() {
        Session session = limited();
        Connection[] calls = {bed.post(session, 1), bed.post(session, 2)};
        node.store.shut();
        node.backend.life().call(1).sink().send(Wire.progress("first"));
        node.backend.life().call(1).sink().send(Wire.progress(LARGE));
        node.backend.life().call(1).respond();
        node.backend.life().call(2).respond();
        node.store.open();
        bed.pass(Duration.ofSeconds(1));
        assertThat(bed.read(calls[0])).containsExactly("first", "result 1");
        assertThat(bed.read(calls[1])).containsExactly("result 2");
        assertThat(session.state()).isNotEqualTo(SessionState.CLOSED);
    }

    @Test
    void whoSendsSomethingTooLargeOutsideOfCallsLearnsIt() {
        Session session = limited();
        Connection listening = bed.listen(session);
        assertThat(node.backend.life().sink.send(Wire.notice(LARGE)).toCompletableFuture())
                .isCompletedExceptionally();
        node.backend.life().sink.send(Wire.notice("small"));
        assertThat(bed.read(listening)).containsExactly("small");
    }

    private static InboundMessage largeRequest(RequestId id, String method) {
        return new InboundMessage(
                InboundMessage.Kind.REQUEST,
                id,
                method,
                Wire.bytes(LARGE + " " + id),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
    }

    @Test
    void aCallWhoseRequestIsTooLargeToBeKeptRunsAndIsNotRunAgain() {
        node.backend.harmless = "reads";
        Session session = limited();
        Connection call = bed.connected(session.call(List.of(largeRequest(Wire.id(1), "reads"))));
        assertThat(bed.record(session).running().values())
                .singleElement()
                .satisfies(running -> assertThat(running.extension()).isEmpty());
        node.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
        assertThat(bed.members(session)).as("no new epoch").hasSize(1);
    }

    private static long largeRecords(ClusterBed.Node node) {
        return node.store.tried.stream()
                .flatMap(append -> append.changes().stream())
                .filter(change ->
                        change instanceof RecordChange.CallStarted started && started.extension().length > MOST)
                .count();
    }

    @Test
    @Timeout(value = 10, threadMode = ThreadMode.SEPARATE_THREAD)
    void aRequestThatIsTooLargeToGoOnWithACallIsForgotten() {
        Session session = limited();
        Connection call = bed.post(session, 1);
        node.backend.life().call(1).sink().continueBy(largeRequest(Wire.id(1), "tasks/result"));
        bed.pass(Duration.ofSeconds(10));
        assertThat(largeRecords(node)).as("how often it was sent").isOne();
        node.backend.life().call(1).respond();
        assertThat(bed.read(call)).containsExactly("result 1");
        assertThat(bed.members(session)).as("no new epoch").hasSize(1);
    }

    @Test
    @Timeout(value = 10, threadMode = ThreadMode.SEPARATE_THREAD)
    void aCallWhoseNextRunTheStoreTakesNoMoreEnds() {
        bed.nodes.forEach(each -> each.backend.harmless = "reads");
        Session here = node.open();
        Session there = bed.node(1).find(here);
        Connection call = bed.connected(here.call(List.of(largeRequest(Wire.id(1), "reads"))));
        node.die();
        bed.node(1).store.mostBytes = MOST;
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        Connection back = bed.resume(there, call.cursor());
        assertThat(bed.read(back)).singleElement().asString().startsWith("error 1 -32603: the server ended while");
        assertThat(largeRecords(bed.node(1))).as("how often it was sent").isOne();
    }

    @Test
    void aCallWhoseIdIsTooLargeForTheStoreIsRefusedAndTheNextOneRuns() {
        Session session = limited();
        RequestId id = new RequestId("\"" + LARGE + "\"");
        Connection call = bed.connected(session.call(List.of(Wire.request(id, "tools/call", JournalChange.NONE))));
        assertThat(call.reason()).isEqualTo(EndReason.STORE_FAILED);
        bed.post(session, 2);
        assertThat(bed.record(session).running()).hasSize(1);
    }

    @Test
    void aCallThatIsTooLargeForAnotherNodeIsRefusedAtOnce() {
        try (ClusterBed once = ClusterBed.once(2)) {
            Session session = once.node(0).open();
            Session there = once.node(1).find(session);
            once.post(there, 1);
            once.node(1).store.mostBytes = MOST;
            assertThat(TestBed.now(there.call(List.of(largeRequest(Wire.id(2), "tools/call")))))
                    .isEqualTo(new Call.Refused(Refusal.BODY_SIZE));
            once.post(there, 3);
            assertThat(once.node(0).backend.life().calls).hasSize(2);
        }
    }

    @Test
    void anAnswerToAQuestionThatIsTooLargeForAnotherNodeReachesItAsAnError() {
        Session session = limited();
        Session there = bed.node(1).find(session);
        Connection call = bed.post(session, 1);
        node.backend.life().call(1).sink().send(Wire.question("q"));
        String asked = bed.read(call).get(0);
        RequestId id = new RequestId(asked.substring("question ".length()));
        InboundMessage response = new InboundMessage(
                InboundMessage.Kind.RESPONSE, id, "", Wire.bytes(LARGE), JournalChange.NONE, InboundMessage.NO_CONTEXT);
        assertThat(TestBed.now(there.answer(response))).isTrue();
        bed.settle();
        assertThat(node.backend.life().heard).last().asString().contains("too large for the session store");
    }

    @Test
    void aSessionWhoseEventsCannotBeReadEndsOnEachNode() {
        Session session = node.open();
        Session there = bed.node(1).find(session);
        Connection call = bed.post(session, 1);
        Connection reading = bed.listen(there);
        Session other = node.open();
        bed.node(1).store.damage(FlakyCluster.Question.READ);
        node.backend.life().sink.send(Wire.notice("other"));
        node.backend.lives.get(0).sink.send(Wire.notice("a"));
        bed.pass(Duration.ofSeconds(5));
        assertThat(bed.read(reading)).isEmpty();
        assertThat(reading.end).isPresent();
        assertThat(bed.read(call)).last().asString().startsWith("error 1 ");
        assertThat(there.state()).isEqualTo(SessionState.CLOSED);
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.post(other, 1).end).isEmpty();
    }

    @Test
    void aSessionThatTakesNoCommitsAnyMoreEnds() {
        Session session = node.open();
        Session other = node.open();
        Connection call = bed.post(session, 1);
        node.store.decree(FlakyCluster.Fate.UNREADABLE);
        node.backend.lives.get(0).call(1).respond();
        assertThat(bed.read(call)).last().asString().startsWith("error 1 ");
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.post(other, 1).end).isEmpty();
    }
}
