package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Finding.Missing;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.Unavailable;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A session whose client is away leaves memory, and comes back with its client. */
class ParkTest {
    private final TestBed bed = TestBed.durable(NodeLimits.DEFAULT.withSessions(1));
    private final Session session = bed.open();
    private final Connection listening = TestBed.listen(session);

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.backend.lives).allMatch(life -> life.closed > 0);
    }

    private void park() {
        listening.broken();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(bed.news.heard).endsWith("parked");
    }

    @Test
    void itLeavesNothingInMemoryAndComesBackWithEverything() {
        bed.backend.life().sink.send(Wire.notice("unread"));
        park();
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.engine.stats().parked()).isOne();
        assertThat(bed.engine.stats().historyEvents()).isZero();
        assertThat(bed.backend.life().closed).isOne();
        Session back = bed.find(session.id(), "").orElseThrow();
        assertThat(TestBed.resume(back, listening).read()).containsExactly("unread");
        assertThat(bed.engine.stats().parked()).isZero();
        assertThat(bed.engine.size()).isOne();
        assertThat(bed.news.heard).endsWith("parked", "restored", "reconnected");
    }

    private static Session used(TestBed bed, String principal) {
        Session session = ((Opening.Opened)
                        TestBed.now(bed.engine.open(Wire.initialize(), principal, TestBed.LIFETIME)))
                .session();
        assertThat(bed.find(session.id(), principal)).isPresent();
        return session;
    }

    @Test
    void aPrincipalDoesNotTakeThePlacesOfOthers() {
        NodeLimits limits = NodeLimits.DEFAULT.withPrincipalSessions(1);
        try (TestBed small = TestBed.durable(limits)) {
            for (int i = 0; i < 11; i++) {
                used(small, "mallory");
            }
            assertThat(small.engine.stats().parked()).isEqualTo(10);
            used(small, "mallory");
            assertThat(small.engine.stats().parked()).isEqualTo(10);
            assertThat(small.news.heard).containsOnlyOnce("closed: EVICTED");
            used(small, "alice");
            used(small, "alice");
            assertThat(small.engine.stats().parked()).isEqualTo(11);
        }
    }

    @Test
    void allTogetherTakeTenTimesWhatTheyMayTakeInMemory() {
        SessionKey one = SessionKey.of("one", "");
        ParkedSessions parked = new ParkedSessions(new NodeLimits(10, 10, 10, 1_024, 16, 100));
        parked.add(one, new ParkedSessions.Parked("one", "", new Epoch(1, 1), 6_000, 0, 0));
        parked.add(SessionKey.of("two", ""), new ParkedSessions.Parked("two", "", new Epoch(1, 1), 4_000, 0, 0));
        assertThat(parked.hasRoom("", 239)).isTrue();
        assertThat(parked.hasRoom("", 240)).isFalse();
        ParkedSessions.Parked was = parked.remove(one).orElseThrow();
        assertThat(parked.hasRoom("", 6_239)).isTrue();
        parked.add(one, new ParkedSessions.Parked("one", "", new Epoch(1, 1), 5_000, 0, 0));
        parked.giveBack(one, was);
        assertThat(parked.hasRoom("", 1_239)).isTrue();
        assertThat(parked.hasRoom("", 1_240)).isFalse();
    }

    @Test
    void itStaysAsLongAsACallRuns() {
        Connection post = bed.post(session, 1);
        post.broken();
        listening.broken();
        bed.pass(TestBed.PARK_AFTER.multipliedBy(2));
        assertThat(bed.engine.size()).isOne();
        bed.backend.life().call(1).respond();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(bed.news.heard).endsWith("parked");
        Session back = bed.find(session.id(), "").orElseThrow();
        assertThat(TestBed.resume(back, post).read()).containsExactly("result 1");
    }

    @Test
    void aSessionThatIsOnlyIdleStays() {
        listening.inOrder();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(bed.engine.size()).isOne();
    }

    @Test
    void itEndsAtTheSameTimeAsInMemory() {
        park();
        bed.pass(TestBed.GRACE.minus(TestBed.PARK_AFTER).minusSeconds(2));
        assertThat(bed.news.heard).endsWith("parked");
        bed.pass(Duration.ofSeconds(2));
        assertThat(bed.news.heard).endsWith("closed: EXPIRED");
        assertThat(bed.engine.stats().parked()).isZero();
        assertThat(bed.engine.stats().ended()).containsEntry(EndReason.EXPIRED, 1L);
        assertThat(bed.find(session.id(), "")).isEmpty();
    }

    @Test
    void whatTheStoreDoesNotDeleteHasNotEndedAndIsTriedAgain() {
        park();
        bed.store.deleting =
                Optional.of(CompletableFuture.failedFuture(new IllegalStateException("the store is away")));
        bed.pass(TestBed.GRACE);
        assertThat(bed.store.deleted).isNotEmpty();
        assertThat(bed.news.heard).endsWith("parked");
        assertThat(bed.engine.stats().parked()).isOne();
        bed.store.deleting = Optional.empty();
        bed.pass(Duration.ofMinutes(1));
        assertThat(bed.news.heard).endsWith("parked", "closed: EXPIRED");
        assertThat(bed.engine.stats().parked()).isZero();
        assertThat(bed.find(session.id(), "")).isEmpty();
    }

    @Test
    void aStoreThatDoesNotDeleteIsLeftAloneForLongerEachTime() {
        park();
        bed.store.deleting =
                Optional.of(CompletableFuture.failedFuture(new IllegalStateException("the store is away")));
        bed.pass(TestBed.GRACE.plusMinutes(10));
        assertThat(bed.store.deleted).hasSizeBetween(10, 25);
        bed.store.deleting = Optional.empty();
    }

    @Test
    void whoeverComesForWhatTheStoreDoesNotDeleteGetsItBack() {
        park();
        CompletableFuture<Void> deletion = new CompletableFuture<>();
        bed.store.deleting = Optional.of(deletion);
        bed.pass(TestBed.GRACE.minus(TestBed.PARK_AFTER).plusSeconds(1));
        CompletionStage<Finding> found = bed.engine.find(session.id(), "");
        assertThat(found.toCompletableFuture()).isNotDone();
        deletion.completeExceptionally(new IllegalStateException("the store is away"));
        assertThat(TestBed.now(found)).isInstanceOf(Found.class);
        assertThat(bed.news.heard).endsWith("parked", "restored");
        assertThat(bed.engine.stats().parked()).isZero();
        bed.store.deleting = Optional.empty();
    }

    @Test
    void whoeverComesWhileItLeavesGetsItBack() {
        bed.pass(Duration.ofSeconds(1));
        bed.store.hold();
        listening.broken();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        CompletionStage<Finding> found = bed.engine.find(session.id(), "");
        assertThat(found.toCompletableFuture()).isNotDone();
        bed.store.release();
        Session back = ((Found) TestBed.now(found)).session();
        assertThat(back.state()).isEqualTo(SessionState.DETACHED);
        assertThat(TestBed.resume(back, listening).read()).isEmpty();
    }

    @Test
    void whoeverTerminatesItWhileItIsParkedNeedsNoBackendAndNoPlace() {
        park();
        TestBed.listen(bed.open());
        int backends = bed.backend.lives.size();
        assertThat(TestBed.now(bed.engine.terminate(session.id(), "somebody"))).isFalse();
        assertThat(TestBed.now(bed.engine.terminate(session.id(), ""))).isTrue();
        assertThat(TestBed.now(bed.engine.terminate(session.id(), ""))).isFalse();
        assertThat(bed.backend.lives).hasSize(backends);
        assertThat(bed.news.heard).endsWith("closed: TERMINATED");
        assertThat(bed.find(session.id(), "")).isEmpty();
    }

    @Test
    void aSessionOfAnEarlierProcessIsTerminatedWithoutABackend() {
        bed.die();
        int backends = bed.backend.lives.size();
        assertThat(TestBed.now(bed.engine.terminate(session.id(), ""))).isTrue();
        assertThat(TestBed.now(bed.engine.terminate(session.id(), ""))).isFalse();
        assertThat(bed.backend.lives).hasSize(backends);
    }

    @Test
    void whoeverTerminatesItWhileItLeavesHasEndedIt() {
        bed.pass(Duration.ofSeconds(1));
        bed.store.hold();
        listening.broken();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        CompletionStage<Void> terminated = session.terminate();
        assertThat(terminated.toCompletableFuture()).isNotDone();
        bed.store.release();
        TestBed.now(terminated);
        assertThat(bed.news.heard).endsWith("parked", "closed: TERMINATED");
        assertThat(bed.engine.stats().parked()).isZero();
        assertThat(bed.find(session.id(), "")).isEmpty();
    }

    @Test
    void whoeverTerminatesItWhileItComesBackHasEndedIt() {
        park();
        bed.store.hold();
        CompletionStage<Finding> found = bed.engine.find(session.id(), "");
        CompletionStage<Void> terminated = session.terminate();
        bed.store.release();
        TestBed.now(terminated);
        assertThat(((Found) TestBed.now(found)).session().state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.news.heard).endsWith("restored", "closed: TERMINATED");
        assertThat(bed.find(session.id(), "")).isEmpty();
    }

    @Test
    void itMakesRoomForAnotherAndComesBackOnlyWhereThereIsRoom() {
        park();
        Session other = bed.open();
        TestBed.listen(other);
        assertThat(TestBed.now(bed.engine.find(session.id(), ""))).isEqualTo(new Unavailable(Refusal.SESSIONS));
        other.terminate();
        assertThat(bed.find(session.id(), "")).isPresent();
    }

    @Test
    void whatWouldFindNoRoomIsNotClaimed() {
        park();
        TestBed.listen(bed.open());
        bed.store.claims = 0;
        bed.find(session.id(), "");
        assertThat(bed.store.claims).isZero();
    }

    @Test
    void whatAnEarlierProcessLeftIsClaimedOnceWhereThereIsNoRoom() {
        bed.die();
        Session other = bed.open();
        Connection held = TestBed.listen(other);
        bed.store.claims = 0;
        for (int i = 0; i < 3; i++) {
            assertThat(TestBed.now(bed.engine.find(session.id(), ""))).isEqualTo(new Unavailable(Refusal.SESSIONS));
        }
        assertThat(bed.store.claims).isOne();
        assertThat(bed.engine.stats().parked()).isOne();
        held.broken();
        assertThat(bed.find(session.id(), "")).isPresent();
        assertThat(bed.engine.stats().parked()).as("the other made room").isOne();
    }

    @Test
    void whatAnEarlierProcessLeftExpiresAlsoWhereItFoundNoRoom() {
        bed.die();
        TestBed.listen(bed.open());
        bed.find(session.id(), "");
        bed.pass(Duration.ofHours(2));
        assertThat(bed.engine.stats().parked()).isZero();
        assertThat(TestBed.now(bed.engine.find(session.id(), ""))).isEqualTo(new Missing());
    }

    @Test
    void whatDoesNotExistIsMissingAlsoWhereThereIsNoRoom() {
        assertThat(TestBed.now(bed.engine.find("unheard-of", ""))).isEqualTo(new Missing());
        assertThat(TestBed.now(bed.engine.find(session.id(), "somebody else"))).isEqualTo(new Missing());
    }

    @Test
    void theOldestOfTheUnusedMakesRoomForOneThatComesBack() {
        try (TestBed three = TestBed.durable(NodeLimits.DEFAULT.withSessions(3))) {
            Session parked = three.open();
            TestBed.listen(parked).broken();
            three.pass(TestBed.PARK_AFTER.plusSeconds(1));
            assertThat(three.news.heard).endsWith("parked");
            List<Session> unused = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                three.pass(Duration.ofSeconds(1));
                unused.add(three.open());
            }
            assertThat(three.find(parked.id(), "")).isPresent();
            assertThat(unused).extracting(Session::state).first().isEqualTo(SessionState.CLOSED);
            assertThat(unused)
                    .extracting(Session::state)
                    .filteredOn(SessionState.CLOSED::equals)
                    .hasSize(1);
        }
    }

    @Test
    void whatIsSentWhileItLeavesIsRefused() {
        bed.pass(Duration.ofSeconds(1));
        bed.store.hold();
        listening.broken();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(bed.backend.life().sink.send(Wire.notice("late")).toCompletableFuture())
                .isCompletedExceptionally();
        bed.store.release();
        assertThat(bed.news.heard).endsWith("parked");
        Session back = bed.find(session.id(), "").orElseThrow();
        assertThat(TestBed.resume(back, listening).read()).isEmpty();
    }

    @Test
    void itDoesNotEndForAnotherThoughTheStoreIsSlow() {
        bed.pass(Duration.ofSeconds(1));
        listening.broken();
        bed.store.hold();
        bed.backend.life().sink.send(Wire.notice("on its way"));
        assertThat(TestBed.now(bed.engine.open(Wire.initialize(), "", TestBed.LIFETIME)))
                .isEqualTo(new Unavailable(Refusal.SESSIONS));
        assertThat(session.state()).isEqualTo(SessionState.DETACHED);
        bed.store.release();
        bed.open();
        assertThat(bed.news.heard).endsWith("parked", "created");
        assertThat(bed.find(session.id(), "")).isPresent();
    }

    @Test
    void whatIsInDoubtWhenItLeavesWasNotTaken() {
        bed.store.hold();
        CompletionStage<Void> sent = bed.backend.life().sink.send(Wire.notice("in doubt"));
        bed.store.next().fail();
        CompletionStage<Void> drained = bed.engine.drain(Duration.ZERO);
        bed.pass(Duration.ofSeconds(12));
        TestBed.now(drained);
        assertThat(bed.news.heard).endsWith("parked");
        assertThat(sent.toCompletableFuture()).isCompletedExceptionally();
        bed.store.release();
    }

    @Test
    void aSessionWhoseMessagesAreStillOnTheirWayStays() {
        bed.store.hold();
        bed.backend.life().sink.send(Wire.notice("doubtful"));
        listening.broken();
        bed.pass(TestBed.PARK_AFTER.plusSeconds(1));
        assertThat(bed.engine.size()).isOne();
        bed.store.release();
        bed.pass(Duration.ofSeconds(1));
        assertThat(bed.news.heard).endsWith("parked");
    }
}
