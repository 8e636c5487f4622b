package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.Unavailable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How many sessions there may be, and who makes room for one more. */
@Timeout(60)
class CapacityTest {
    private static final NodeLimits THREE = NodeLimits.DEFAULT.withSessions(3);

    private final TestBed bed = new TestBed(SessionLimits.DEFAULT, THREE);

    @AfterEach
    void nothingIsLeft() {
        bed.close();
        assertThat(bed.engine.size()).isZero();
    }

    private Opening tryOpen(String principal) {
        return TestBed.now(bed.engine.open(Wire.initialize(), principal, TestBed.LIFETIME));
    }

    private Session used() {
        Session session = bed.open();
        assertThat(found(session)).isTrue();
        bed.pass(Duration.ofSeconds(1));
        return session;
    }

    private Session unused() {
        Session session = bed.open();
        bed.pass(Duration.ofSeconds(1));
        return session;
    }

    private boolean found(Session session) {
        return bed.find(session.id(), "").isPresent();
    }

    private static boolean open(Session session) {
        return session.state() != SessionState.CLOSED;
    }

    @Test
    void theSessionThatIsDetachedForLongestGoesFirst() {
        Session idle = used();
        Session first = used();
        Session second = used();
        TestBed.listen(first).broken();
        bed.pass(Duration.ofSeconds(1));
        TestBed.listen(second).broken();
        bed.pass(Duration.ofSeconds(1));

        bed.open();

        assertThat(open(first)).isFalse();
        assertThat(open(second) && open(idle)).isTrue();
        assertThat(bed.news.heard).endsWith("closed: EVICTED", "created");
        assertThat(bed.engine.stats().ended()).containsEntry(EndReason.EVICTED, 1L);
    }

    @Test
    void thenTheOneThatIsIdleForLongest() {
        Session first = used();
        Session second = used();
        Session third = used();
        assertThat(found(first)).isTrue();

        bed.open();

        assertThat(open(second)).isFalse();
        assertThat(open(first) && open(third)).isTrue();
    }

    @Test
    void aSessionThatWasNeverUsedGoesBeforeAnyOther() {
        Session detached = used();
        TestBed.listen(detached).broken();
        Session idle = used();
        Session unused = unused();

        bed.open();

        assertThat(open(unused)).isFalse();
        assertThat(open(detached) && open(idle)).isTrue();
    }

    @Test
    void aSessionOfAPrincipalThatWasNeverUsedGoesBeforeItsOthers() {
        NodeLimits limits = NodeLimits.DEFAULT.withPrincipalSessions(20);
        try (TestBed shared = new TestBed(SessionLimits.DEFAULT, limits)) {
            List<Session> idle = new ArrayList<>();
            for (int i = 0; i < 25; i++) {
                Session session = ((Opening.Opened)
                                TestBed.now(shared.engine.open(Wire.initialize(), "alice", TestBed.LIFETIME)))
                        .session();
                if (i < 5) {
                    shared.find(session.id(), "alice");
                    idle.add(session);
                }
                shared.pass(Duration.ofMillis(10));
            }
            assertThat(idle).allMatch(CapacityTest::open);
            assertThat(shared.engine.size()).isEqualTo(20);
        }
    }

    @Test
    void aSessionThatWasAttachedAndNeverInitializedGoesBeforeOneThatSleeps() {
        Session sleeping = used();
        TestBed.listen(sleeping).broken();
        used();
        Session never = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        TestBed.listen(never).broken();

        bed.open();

        assertThat(open(never)).isFalse();
        assertThat(open(sleeping)).isTrue();
    }

    @Test
    void aStormOfInitializeEvictsOnlyItself() {
        Session attached = used();
        Connection connection = TestBed.listen(attached);
        Session idle = used();

        for (int i = 0; i < 1000; i++) {
            bed.open();
        }

        assertThat(bed.engine.size()).isEqualTo(3);
        assertThat(open(attached) && open(idle)).isTrue();
        assertThat(connection.end).isEmpty();
        assertThat(bed.engine.stats().ended()).containsEntry(EndReason.EVICTED, 999L);
    }

    @Test
    void aFullServerLetsNewClientsFinishTheirHandshake() {
        try (TestBed full = new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT.withSessions(80))) {
            for (int i = 0; i < 80; i++) {
                Session session = full.open();
                full.find(session.id(), "");
                full.pass(Duration.ofMillis(10));
            }

            List<Session> handshakes = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                handshakes.add(full.open());
            }

            assertThat(handshakes).allMatch(CapacityTest::open);
            for (int i = 0; i < 500; i++) {
                full.open();
            }
            assertThat(full.engine.stats().sessions()).isEqualTo(80);
            assertThat(handshakes).noneMatch(CapacityTest::open);
            assertThat(full.backend.lives.stream()
                            .filter(life -> life.closed > 0)
                            .count())
                    .isEqualTo(510);
            assertThat(full.backend.lives.subList(11, 80)).as("in use").allMatch(life -> life.closed == 0);
        }
    }

    @Test
    void whatIsAttachedOrRunsACallStaysAndTheNewOneIsRefused() {
        Session attached = used();
        TestBed.listen(attached);
        Session running = used();
        bed.post(running, 1).broken();
        Session another = used();
        TestBed.listen(another);

        assertThat(tryOpen("")).isEqualTo(new Unavailable(Refusal.SESSIONS));

        assertThat(open(attached) && open(running) && open(another)).isTrue();
        bed.backend.lives.get(1).call(1).respond();
        assertThat(tryOpen("")).isInstanceOf(Opening.Opened.class);
        assertThat(open(running)).isFalse();
    }

    @Test
    void aRefusedInitializeGivesItsPlaceBack() {
        bed.backend.slow = true;
        for (int i = 0; i < 10; i++) {
            var opening = bed.engine.open(Wire.initialize(), "ann", TestBed.LIFETIME);
            bed.backend.life().refuse();
            assertThat(TestBed.now(opening)).isInstanceOf(Opening.Refused.class);
        }
    }

    @Test
    void sessionsThatAreBeingOpenedCount() {
        bed.backend.slow = true;
        for (int i = 0; i < 3; i++) {
            bed.engine.open(Wire.initialize(), "", TestBed.LIFETIME);
        }

        assertThat(tryOpen("")).isEqualTo(new Unavailable(Refusal.SESSIONS));

        bed.backend.lives.forEach(TestBackend.Life::refuse);
    }

    @Test
    void aPrincipalMakesRoomAmongItsOwn() {
        NodeLimits two = NodeLimits.DEFAULT.withPrincipalSessions(2);
        try (TestBed own = new TestBed(SessionLimits.DEFAULT, two)) {
            List<Session> bobs = new ArrayList<>();
            List<Session> anns = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                bobs.add(open(own, "bob"));
                anns.add(open(own, "ann"));
                own.pass(Duration.ofSeconds(1));
            }

            anns.add(open(own, "ann"));

            assertThat(anns).extracting(Session::state).startsWith(SessionState.CLOSED, SessionState.IDLE);
            assertThat(bobs).allMatch(CapacityTest::open);
            anns.subList(1, 3).forEach(TestBed::listen);
            assertThat(TestBed.now(own.engine.open(Wire.initialize(), "ann", TestBed.LIFETIME)))
                    .isEqualTo(new Unavailable(Refusal.PRINCIPAL_SESSIONS));
            open(own, "bob");
            open(own, "");
        }
    }

    private static Session open(TestBed bed, String principal) {
        return ((Opening.Opened) TestBed.now(bed.engine.open(Wire.initialize(), principal, TestBed.LIFETIME)))
                .session();
    }

    @Test
    void manyThreadsNeverHoldMoreThanTheLimit() throws Exception {
        try (SessionEngine engine = SessionEngine.builder(new TestBackend(), Wire.MESSAGES)
                .nodeLimits(NodeLimits.DEFAULT.withSessions(50))
                .build()
                .start()) {
            ExecutorService threads = Executors.newFixedThreadPool(4);
            CountDownLatch together = new CountDownLatch(4);
            List<Future<Integer>> most = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                most.add(threads.submit(() -> {
                    together.countDown();
                    together.await();
                    int seen = 0;
                    for (int n = 0; n < 500; n++) {
                        engine.open(Wire.initialize(), "", TestBed.LIFETIME);
                        seen = Math.max(seen, engine.size());
                    }
                    return seen;
                }));
            }
            for (Future<Integer> seen : most) {
                assertThat(seen.get(30, TimeUnit.SECONDS)).isLessThanOrEqualTo(50);
            }
            assertThat(engine.stats().sessions()).isEqualTo(50);
            threads.shutdownNow();
        }
    }

    @Test
    void aSessionThatNobodyUsesLivesShortly() {
        Lifetime brief = TestBed.LIFETIME.withInitialization(Duration.ofSeconds(10));
        Session unused = bed.open(brief);
        Session used = bed.open(brief);
        assertThat(found(used)).isTrue();

        bed.pass(Duration.ofSeconds(11));

        assertThat(open(unused)).isFalse();
        assertThat(open(used)).isTrue();
        assertThat(bed.news.heard).endsWith("closed: EXPIRED");
    }
}
