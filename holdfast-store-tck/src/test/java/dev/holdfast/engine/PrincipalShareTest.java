package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.Unavailable;
import dev.holdfast.session.LiveSession;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** No principal takes all that a node has, of calls, backends, history and the store; nobody in particular may. */
class PrincipalShareTest {
    private static final String ALICE = "alice";
    private static final String BOB = "bob";
    private static final String KILOBYTE = "x".repeat(1024);

    private static Session open(TestBed bed, String principal) {
        return ((Opening.Opened) opening(bed, principal)).session();
    }

    private static Opening opening(TestBed bed, String principal) {
        return TestBed.now(bed.engine.open(Wire.initialize(), principal, TestBed.LIFETIME));
    }

    private static Call.Outcome call(Session session, int id) {
        return TestBed.now(session.call(TestBed.requests(id)));
    }

    @Test
    void onePrincipalRunsHalfOfTheCallsAndAnotherFindsRoom() {
        try (TestBed bed = new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT.withRunningCalls(4))) {
            Session alice = open(bed, ALICE);
            Session another = open(bed, ALICE);
            assertThat(call(alice, 1)).isInstanceOf(Call.Accepted.class);
            assertThat(call(another, 1)).isInstanceOf(Call.Accepted.class);

            assertThat(call(another, 2)).isEqualTo(new Call.Refused(Refusal.PRINCIPAL_SHARE));
            Session bob = open(bed, BOB);
            assertThat(call(bob, 1)).isInstanceOf(Call.Accepted.class);
            assertThat(call(bob, 2)).isInstanceOf(Call.Accepted.class);
            assertThat(call(open(bed, "carol"), 1)).isEqualTo(new Call.Refused(Refusal.NODE_CALLS));
        }
    }

    @Test
    void whereNobodyIsKnownAllCallsAreForAll() {
        try (TestBed bed = new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT.withRunningCalls(4))) {
            Session session = open(bed, "");
            for (int id = 1; id <= 4; id++) {
                assertThat(call(session, id)).isInstanceOf(Call.Accepted.class);
            }
            assertThat(call(session, 5)).isEqualTo(new Call.Refused(Refusal.NODE_CALLS));
        }
    }

    @Test
    void onePrincipalUsesHalfOfTheBackendsAndAnotherFindsOne() {
        try (TestBed bed = TestBed.limited(4)) {
            List<Session> alice = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                alice.add(open(bed, ALICE));
                bed.post(alice.get(i), 1).broken();
            }

            assertThat(opening(bed, ALICE)).isEqualTo(new Unavailable(Refusal.BACKENDS));
            bed.post(open(bed, BOB), 1);

            bed.backend.lives.get(0).call(1).respond();
            bed.pass(Duration.ofSeconds(6));
            assertThat(opening(bed, ALICE))
                    .as("that of her own that nobody uses ends")
                    .isInstanceOf(Opening.Opened.class);
            assertThat(bed.backend.lives.get(0).closed).isOne();
            bed.backend.lives.forEach(TestBackend.Life::gone);
        }
    }

    @Test
    void theHistoryOfTheOthersStaysWhereOnePrincipalKeepsMoreThanItsShare() {
        try (TestBed bed = new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT.withHistory(100_000, 10_000))) {
            Session bob = open(bed, BOB);
            for (int i = 0; i < 40; i++) {
                bed.backend.life().sink.send(Wire.notice(KILOBYTE));
            }
            for (int session = 0; session < 20; session++) {
                open(bed, ALICE);
                for (int i = 0; i < 10; i++) {
                    bed.backend.life().sink.send(Wire.notice(KILOBYTE));
                }
            }

            assertThat(((LiveSession) bob).streams().events()).isEqualTo(40);
            assertThat(bed.engine.stats().historyBytes()).isLessThanOrEqualTo(100_000);
        }
    }

    /** Sessions that their clients have used and left, each of which takes the place of the one before. */
    private static List<Session> left(ClusterBed bed, int count) {
        List<Session> sessions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Session session = bed.node(0).find(bed.node(0).open());
            sessions.add(session);
            bed.pass(Duration.ofSeconds(1));
        }
        return sessions;
    }

    @Test
    void aSharedStoreKeepsTenParkedSessionsForEachThatMayBeInMemory() {
        try (ClusterBed bed = ClusterBed.limited(1, NodeLimits.DEFAULT.withSessions(1))) {
            List<Session> sessions = left(bed, 15);

            assertThat(sessions.stream().filter(bed::stored)).hasSize(11);
            assertThat(bed.node(0).engine.stats().ended()).containsEntry(EndReason.EVICTED, 4L);
            bed.pass(TestBed.LIFETIME.idle().plusHours(2));
            assertThat(sessions.stream().filter(bed::stored)).isEmpty();
            assertThat(left(bed, 11).stream().filter(bed::stored))
                    .as("those that are gone count no more")
                    .hasSize(11);
        }
    }

    /** What it has left in the store before, nobody trims. */
    @Test
    void whatASessionLeavesEachTimeIsCountedAndEndsWhereThereIsNoRoom() {
        NodeLimits few = NodeLimits.DEFAULT.withSessions(1).withHistory(100_000, 10_000);
        try (ClusterBed bed = ClusterBed.limited(1, few)) {
            List<Session> sessions = left(bed, 2);
            for (int round = 0; round < 60; round++) {
                Session session = sessions.get(round % 2);
                if (bed.node(0).has(session)) {
                    for (int i = 0; i < 40; i++) {
                        bed.node(0).backend.life().sink.send(Wire.notice(KILOBYTE));
                    }
                    bed.pass(Duration.ofSeconds(1));
                }
            }
            assertThat(bed.node(0).engine.stats().ended().get(EndReason.EVICTED))
                    .isPositive();
            assertThat(sessions.stream().filter(bed::stored)).hasSizeLessThan(2);
        }
    }

    @Test
    void aSessionThatComesBackCountsAsParkedNoMore() {
        try (ClusterBed bed = ClusterBed.limited(1, NodeLimits.DEFAULT.withSessions(1))) {
            List<Session> sessions = left(bed, 11);
            for (Session session : sessions) {
                bed.node(0).find(session);
                bed.pass(Duration.ofSeconds(1));
            }
            assertThat(sessions.stream().filter(bed::stored)).hasSize(11);
        }
    }

    @Test
    void aSessionThatLeavesNothingNewCountsOnceHoweverOftenItComesBack() {
        NodeLimits few = NodeLimits.DEFAULT.withSessions(1).withHistory(1_024, 16);
        try (ClusterBed bed = ClusterBed.limited(1, few)) {
            List<Session> sessions = left(bed, 2);
            for (int round = 0; round < 1_500; round++) {
                assertThat(bed.node(0).has(sessions.get(round % 2)))
                        .as("round %d", round)
                        .isTrue();
                bed.pass(Duration.ofSeconds(1));
            }
        }
    }
}
