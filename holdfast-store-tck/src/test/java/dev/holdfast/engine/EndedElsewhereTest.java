package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Session;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** A session is ended on one node while the stream of a call of it is read on another: that ends with an error, as on one node. */
class EndedElsewhereTest {
    private static final String TERMINATED = "the session has ended: terminated by the client";

    private static String error(int id) {
        return "error " + id + " -32603: " + TERMINATED;
    }

    private static void ends(ClusterBed bed, Connection call, String... received) {
        assertThat(bed.read(call)).containsExactly(received);
        assertThat(call.reason()).isIn(EndReason.TERMINATED, EndReason.COMPLETED);
    }

    /** Each node has a backend of its own. */
    @Nested
    class OnEachNode {
        private final ClusterBed bed = new ClusterBed(3);
        private final ClusterBed.Node first = bed.node(0);
        private final ClusterBed.Node second = bed.node(1);
        private final ClusterBed.Node third = bed.node(2);
        private final Session here = first.open();
        private final Session there = second.find(here);

        @AfterEach
        void close() {
            bed.close();
        }

        private void terminate(Session session) {
            bed.now(session.terminate());
            bed.settle();
        }

        @Test
        void theCallThatRunsThereEndsWithAnErrorThatHasNoId() {
            Connection call = bed.post(there, 1);
            second.backend.life().call(1).sink().send(Wire.progress("1"));
            assertThat(bed.read(call)).containsExactly("1");
            EventId before = call.cursor();
            terminate(here);
            ends(bed, call, "1", error(1));
            assertThat(call.cursor()).isEqualTo(before);
        }

        @Test
        void itDoesThoughNothingWasSentOnItsStreamBefore() {
            Connection call = bed.post(there, 1);
            terminate(here);
            ends(bed, call, error(1));
        }

        @Test
        void ofABatchThoseEndSoThatHaveNoAnswerAndAreNotCancelled() {
            Connection call = bed.post(there, 1, 2, 3, 4);
            second.backend.life().call(2).respond();
            TestBed.now(there.cancel(Wire.id(3), Wire.cancelled(3)));
            terminate(here);
            ends(bed, call, "result 2", error(1), error(4));
        }

        @Test
        void whoReadsItFromAnotherNodeGetsTheSame() {
            Connection call = bed.post(there, 1);
            second.backend.life().call(1).sink().send(Wire.progress("1"));
            bed.read(call);
            call.broken();
            Connection again = bed.resume(third.find(here), call.cursor());
            terminate(here);
            ends(bed, again, error(1));
            assertThat(again.cursor()).isEqualTo(call.cursor());
        }

        @Test
        void soDoesWhoReadsItWhereTheSessionIsEnded() {
            Connection call = bed.post(there, 1);
            call.broken();
            Connection again = bed.resume(here, call.cursor());
            terminate(here);
            ends(bed, again, error(1));
        }

        @Test
        void whatHasArrivedIsReadBeforeTheEnd() {
            Connection call = bed.post(there, 1, 2);
            call.broken();
            Connection again = bed.resume(here, call.cursor());
            second.backend.life().call(1).respond();
            bed.settle();
            terminate(here);
            ends(bed, again, "result 1", error(2));
        }

        @Test
        void aNodeThatNobodyHasToldFindsItWhenItsBackendAnswers() {
            Connection call = bed.post(there, 1);
            second.store.deaf = true;
            here.terminate();
            bed.settle();
            assertThat(bed.read(call)).isEmpty();
            second.backend.life().call(1).respond();
            ends(bed, call, error(1));
        }

        @Test
        void aSessionThatIsOnlyGivenUpHereSaysNothing() {
            Connection call = bed.post(there, 1);
            second.store.shut();
            bed.pass(ClusterBed.LEASE.plusSeconds(2));
            assertThat(bed.read(call)).isEmpty();
            assertThat(call.reason()).isEqualTo(EndReason.TAKEN_OVER);
        }
    }

    /** One node has the only backend, and the others hand their calls to it. */
    @Nested
    class OnTheNodeOfTheBackend {
        private final ClusterBed bed = ClusterBed.once(3);
        private final ClusterBed.Node first = bed.node(0);
        private final Session here = first.open();
        private final Session there = bed.node(1).find(here);
        private final Session elsewhere = bed.node(2).find(here);

        @AfterEach
        void close() {
            bed.close();
        }

        private Connection call() {
            var outcome = there.call(TestBed.requests(1));
            bed.settle();
            Connection call = bed.connected(outcome);
            first.backend.life().call(1).sink().send(Wire.progress("1"));
            assertThat(bed.read(call)).containsExactly("1");
            return call;
        }

        private void endsWhenTerminatedAt(Session session) {
            Connection call = call();
            bed.now(session.terminate());
            bed.settle();
            ends(bed, call, "1", error(1));
        }

        @Test
        void aCallEndsSoThatWasHandedOnWhereTheSessionIsEnded() {
            endsWhenTerminatedAt(there);
        }

        @Test
        void soItDoesWhereTheBackendIsOnThatNode() {
            endsWhenTerminatedAt(here);
        }

        @Test
        void soItDoesWhereNeitherIs() {
            endsWhenTerminatedAt(elsewhere);
        }

        @Test
        void soItDoesWhereItsNodeIsSlowToReadWhatTheOtherHasWritten() {
            Connection call = call();
            bed.node(1).store.hold(FlakyCluster.Question.READ);
            bed.now(here.terminate());
            bed.settle();
            bed.node(1).store.letGo();
            bed.pass(Duration.ofSeconds(1));
            ends(bed, call, "1", error(1));
        }
    }
}
