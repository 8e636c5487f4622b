package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.engine.TestStore.Fate;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How a session begins, or does not. */
class OpeningTest {
    private final TestBed bed = new TestBed();

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.size()).isZero();
    }

    private CompletableFuture<Opening> open() {
        return bed.engine.open(Wire.initialize(), "alice", TestBed.LIFETIME).toCompletableFuture();
    }

    @Test
    void onlyItsPrincipalFindsASession() {
        Session session = ((Opening.Opened) TestBed.now(open())).session();
        assertThat(bed.find(session.id(), "alice")).contains(session);
        assertThat(bed.find(session.id(), "mallory")).isEmpty();
        assertThat(bed.find(session.id(), "")).isEmpty();
        assertThat(bed.find(session.id() + "x", "alice")).isEmpty();
    }

    @Test
    void theBackendMayProposeTheId() {
        bed.backend.propose("an id of the backend");
        Session session = ((Opening.Opened) TestBed.now(open())).session();
        assertThat(session.id()).isEqualTo("an id of the backend");
        assertThat(session.shortId()).isEqualTo("an id of");
        assertThat(bed.backend.life().sink.sessionId()).isEqualTo(session.id());
    }

    @Test
    void anIdThatIsTakenIsAFault() {
        bed.backend.propose("taken");
        open();
        bed.backend.lives.clear();
        assertThat(open()).isCompletedExceptionally();
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.engine.size()).isOne();
        assertThat(bed.news.heard).containsExactly("created");
    }

    @Test
    void aRefusalReachesTheClientAndLeavesNothing() {
        bed.backend.slow = true;
        CompletableFuture<Opening> opening = open();
        CompletionStage<Void> sent = bed.backend.life().sink.send(Wire.notice("before the end"));
        bed.backend.life().refuse();
        assertThat(TestBed.now(opening)).isInstanceOf(Opening.Refused.class);
        assertThat(bed.engine.size()).isZero();
        assertThat(sent.toCompletableFuture()).isCompleted();
        assertThat(bed.news.heard).isEmpty();
    }

    @Test
    void aBackendThatCannotBeReachedIsCounted() {
        bed.backend.slow = true;
        CompletableFuture<Opening> opening = open();
        bed.backend.life().stayAway();
        assertThat(TestBed.now(opening)).isInstanceOf(Opening.Refused.class);
        assertThat(bed.engine.stats().refused()).containsEntry(Refusal.BACKEND_OPENING, 1L);
    }

    @Test
    void aBackendOfTheFirstMessageThatCannotBeReachedIsCounted() {
        bed.backend.slow = true;
        Session session = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        TestBed.accepted(session.call(List.of(Wire.initialize()))).dispatch();
        bed.backend.life().stayAway();
        assertThat(bed.engine.stats().refused()).containsEntry(Refusal.BACKEND_OPENING, 1L);
    }

    @Test
    void aBackendThatFailsToOpenIsAFault() {
        bed.backend.slow = true;
        CompletableFuture<Opening> opening = open();
        bed.backend.life().outcome.completeExceptionally(new IllegalStateException("no such command"));
        assertThat(opening).isCompletedExceptionally();
        assertThat(bed.engine.size()).isZero();
    }

    @Test
    void whatTheBackendSendsWhileItOpensIsDelivered() {
        bed.backend.slow = true;
        CompletableFuture<Opening> opening = open();
        CompletionStage<Void> sent = bed.backend.life().sink.send(Wire.notice("early"));
        assertThat(sent.toCompletableFuture()).isNotDone();
        assertThat(bed.backend.life().sink.sessionId()).isEmpty();
        bed.backend.life().accept();
        assertThat(sent.toCompletableFuture()).isCompleted();
        Session session = ((Opening.Opened) TestBed.now(opening)).session();
        assertThat(TestBed.listen(session).read()).containsExactly("early");
    }

    @Test
    void aBackendThatSendsTooMuchWhileItOpensIsNotHeard() {
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 20, 16, 8, 8))) {
            small.backend.slow = true;
            CompletionStage<Opening> opening = small.engine.open(Wire.initialize(), "", TestBed.LIFETIME);
            for (int i = 0; i < 16; i++) {
                small.backend.life().sink.send(Wire.question("q" + i));
            }
            assertThat(small.backend.life().sink.send(Wire.notice("n")).toCompletableFuture())
                    .isCompletedExceptionally();
            small.backend.life().accept();
            Session session = ((Opening.Opened) TestBed.now(opening)).session();
            assertThat(TestBed.listen(session).read()).hasSize(16);
        }
    }

    @Test
    void aSessionThatEndsAtOnceIsToldInOrder() {
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 10, 16, 8, 8))) {
            small.backend.slow = true;
            CompletionStage<Opening> opening = small.engine.open(Wire.initialize(), "", TestBed.LIFETIME);
            for (int i = 0; i < 8; i++) {
                small.backend.life().sink.send(Wire.question("q" + i));
            }
            small.backend.life().accept();
            assertThat(opening.toCompletableFuture()).isCompleted();
            assertThat(small.engine.size()).isZero();
            assertThat(small.backend.life().closed).isOne();
            assertThat(small.news.heard).containsExactly("created", "closed: OVERFLOW");
        }
    }

    @Test
    void aBackendThatIsLostRightAfterItOpenedIsReplacedByTheNextRequest() {
        bed.backend.slow = true;
        CompletableFuture<Opening> opening = open();
        TestBackend.Life first = bed.backend.life();
        first.sink.lost("it died at once");
        first.accept();
        bed.backend.slow = false;
        Session session = ((Opening.Opened) TestBed.now(opening)).session();
        assertThat(first.closed).isOne();
        Connection post = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(bed.news.heard).containsExactly("created", "restored");
    }

    @Test
    void aFailedAppendOfEarlyMessagesIsRecoveredFrom() {
        bed.backend.slow = true;
        CompletableFuture<Opening> opening = open();
        bed.backend.life().sink.send(Wire.notice("early"));
        bed.store.decree(Fate.KEPT);
        bed.backend.life().accept();
        Session session = ((Opening.Opened) TestBed.now(opening)).session();
        assertThat(TestBed.listen(session).read()).containsExactly("early");
    }
}
