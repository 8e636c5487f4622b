package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.NodeLimits;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Calls on their way to the node that has the session's only backend count where they have arrived. */
class OnceLimitsTest {
    private static final int OF_SESSION = SessionLimits.DEFAULT.runningCalls();
    private static final int OF_NODE = OF_SESSION + 8;

    @AutoClose
    private final ClusterBed bed = ClusterBed.once(2, NodeLimits.DEFAULT.withRunningCalls(OF_NODE));

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    private Session there() {
        return second.find(first.open());
    }

    private List<CompletionStage<Call.Outcome>> calls(Session session, int count) {
        List<CompletionStage<Call.Outcome>> outcomes = IntStream.range(0, count)
                .mapToObj(id -> session.call(TestBed.requests(id)))
                .toList();
        bed.settle();
        return outcomes;
    }

    private static boolean wait(List<CompletionStage<Call.Outcome>> outcomes) {
        return outcomes.stream()
                .noneMatch(outcome -> outcome.toCompletableFuture().isDone());
    }

    @Test
    void asManyAreOnTheirWayAsASessionMayRun() {
        Session there = there();
        second.store.deaf = true;
        assertThat(wait(calls(there, OF_SESSION))).isTrue();
        assertThat(TestBed.now(there.call(TestBed.requests(OF_SESSION))))
                .isEqualTo(new Call.Refused(Refusal.SESSION_CALLS));
        assertThat(first.backend.life().calls).hasSize(OF_SESSION);
    }

    @Test
    void asManyAreOnTheirWayAsANodeMayRun() {
        Session there = there();
        Session other = there();
        second.store.deaf = true;
        assertThat(wait(calls(there, OF_SESSION))).isTrue();
        assertThat(wait(calls(other, OF_NODE - OF_SESSION))).isTrue();
        assertThat(TestBed.now(other.call(TestBed.requests(OF_NODE)))).isEqualTo(new Call.Refused(Refusal.NODE_CALLS));
        assertThat(second.engine.stats().runningCalls()).isEqualTo(OF_NODE);
    }

    @Test
    void whoHasArrivedIsNotOnItsWayAnyMore() {
        Session there = there();
        second.store.deaf = true;
        List<CompletionStage<Call.Outcome>> outcomes = calls(there, OF_SESSION);
        there.call(TestBed.requests(OF_SESSION));
        second.store.deaf = false;
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        outcomes.forEach(bed::connected);
        assertThat(second.engine.stats().runningCalls()).isZero();
        first.backend.life().call(0).respond();
        bed.settle();
        CompletionStage<Call.Outcome> next = there.call(TestBed.requests(OF_SESSION));
        bed.settle();
        bed.connected(next);
        assertThat(first.engine.stats().runningCalls()).isEqualTo(OF_SESSION);
    }

    @Test
    void aCallOnTheNodeOfTheBackendCountsOnce() {
        Session here = first.open();
        calls(here, OF_SESSION).forEach(bed::connected);
        assertThat(first.engine.stats().runningCalls()).isEqualTo(OF_SESSION);
        calls(first.open(), OF_NODE - OF_SESSION).forEach(bed::connected);
        assertThat(first.engine.stats().runningCalls()).isEqualTo(OF_NODE);
    }
}
