package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.Unavailable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The end of an engine, in order. */
class DrainTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final TestBed bed = new TestBed();

    @AfterEach
    void nothingIsLeft() {
        bed.close();
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.backend.lives).allMatch(life -> life.closed > 0);
    }

    private CompletableFuture<Void> drain() {
        return bed.engine.drain(TIMEOUT).toCompletableFuture();
    }

    @Test
    void anIdleEngineIsDrainedAtOnce() {
        bed.open();
        assertThat(drain()).isCompleted();
        assertThat(bed.news.heard).containsExactly("created", "closed: DRAINED");
    }

    @Test
    void whileItDrainsNothingNewBegins() {
        Session session = bed.open();
        bed.post(session, 1);
        drain();
        assertThat(TestBed.now(bed.engine.open(Wire.initialize(), "", TestBed.LIFETIME)))
                .isEqualTo(new Unavailable(Refusal.DRAINING));
        assertThat(TestBed.now(session.call(TestBed.requests(2)))).isEqualTo(new Call.Refused(Refusal.DRAINING));
    }

    @Test
    void aCallThatTakesTooLongIsGivenUpWhereNoNextProcessGoesOnWithIt() {
        Session session = bed.open();
        Connection post = bed.post(session, 1);
        List<String> told = new ArrayList<>();
        bed.backend.life().call(1).sink().onCancel(notification -> told.add("cancelled"));
        CompletableFuture<Void> drained = drain();
        bed.pass(TIMEOUT);
        assertThat(post.read()).singleElement(STRING).startsWith("error 1 -32603: ");
        post.handover();
        bed.pass(TIMEOUT);
        assertThat(drained).isCompleted();
        assertThat(told).containsExactly("cancelled");
    }

    @Test
    void runningCallsEndFirstThenConnectionsThenSessions() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        Connection post = bed.post(session, 1);
        CompletableFuture<Void> drained = drain();
        bed.pass(Duration.ofSeconds(5));
        assertThat(listening.read()).isEmpty();
        assertThat(listening.end).isEmpty();
        bed.backend.life().call(1).respond();
        bed.pass(Duration.ofMillis(10));
        assertThat(post.read()).containsExactly("result 1");
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(listening.end).isEmpty();
        post.inOrder();
        bed.pass(Duration.ofMillis(10));
        assertThat(listening.reason()).isEqualTo(EndReason.DRAINED);
        assertThat(drained).isNotDone();
        listening.handover();
        bed.pass(Duration.ofMillis(10));
        assertThat(drained).isCompleted();
        assertThat(bed.news.heard).containsExactly("created", "closed: DRAINED");
    }

    @Test
    void aDrainWaitsSomeSecondsForAClientOnItsWayBackToItsResponse() {
        Session session = bed.open();
        Connection post = bed.post(session, 1);
        post.broken();
        CompletableFuture<Void> drained = drain();
        bed.backend.life().call(1).respond();
        bed.pass(Duration.ofMillis(4900));
        assertThat(drained).isNotDone();
        assertThat(bed.engine.size()).isEqualTo(1);
        bed.pass(Duration.ofMillis(200));
        assertThat(drained).isCompleted();
    }

    @Test
    void aConnectionThatDrainsGetsFirstWhatIsCommitted() {
        Session session = bed.open();
        Connection listening = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.notice("a"));
        drain();
        assertThat(listening.read()).containsExactly("a");
        assertThat(listening.reason()).isEqualTo(EndReason.DRAINED);
    }

    @Test
    void aCallThatRunsTooLongGetsAnError() {
        Session session = bed.open();
        Connection post = bed.post(session, 1);
        CompletableFuture<Void> drained = drain();
        bed.pass(TIMEOUT.minusMillis(10));
        assertThat(post.read()).isEmpty();
        bed.pass(Duration.ofMillis(20));
        assertThat(post.read()).containsExactly("error 1 -32603: the session has ended: the server is shutting down");
        post.inOrder();
        bed.pass(Duration.ofMillis(10));
        assertThat(drained).isCompleted();
    }

    @Test
    void aCallThatRunsTooLongGetsItsErrorThoughTheStoreIsSlow() {
        Session session = bed.open();
        Connection post = bed.post(session, 1);
        bed.store.hold();
        bed.engine.drain(Duration.ZERO);
        assertThat(post.read()).isEmpty();
        assertThat(post.end).isEmpty();
        bed.store.release();
        assertThat(post.read()).hasSize(1);
        assertThat(post.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void aConnectionThatDoesNotEndIsNotWaitedForLong() {
        Session session = bed.open();
        TestBed.listen(session);
        CompletableFuture<Void> drained = drain();
        bed.pass(Duration.ofMillis(1990));
        assertThat(drained).isNotDone();
        bed.pass(Duration.ofMillis(20));
        assertThat(drained).isCompleted();
    }

    @Test
    void itWaitsForSessionsThatASlowStoreEnds() {
        bed.open();
        bed.store.hold();
        bed.backend.life().sink.send(Wire.notice("a"));
        CompletableFuture<Void> drained = drain();
        assertThat(bed.backend.life().closed).isZero();
        assertThat(drained).isNotDone();
        bed.store.release();
        bed.pass(Duration.ofMillis(10));
        assertThat(drained).isCompleted();
        assertThat(bed.backend.life().closed).isOne();
    }

    @Test
    void aSessionThatIsBeingOpenedDoesNotOutliveTheDrain() {
        bed.backend.slow = true;
        CompletableFuture<Opening> opening =
                bed.engine.open(Wire.initialize(), "", TestBed.LIFETIME).toCompletableFuture();
        CompletableFuture<Void> drained = drain();
        assertThat(drained).isNotDone();
        bed.backend.life().accept();
        assertThat(TestBed.now(opening)).isEqualTo(new Unavailable(Refusal.DRAINING));
        bed.pass(Duration.ofMillis(10));
        assertThat(drained).isCompleted();
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.news.heard).containsExactly("created", "closed: DRAINED");
    }

    @Test
    void closingStopsTheClockTasks() {
        bed.open();
        assertThat(bed.time.waiting()).isOne();
        bed.engine.close();
        assertThat(bed.time.waiting()).isZero();
        assertThat(bed.time.isShutdown()).isFalse();
    }

    @Test
    void anEngineWhoseSchedulerIsOverEndsWithoutPatience() {
        ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
        TestBackend backend = new TestBackend();
        SessionEngine engine = SessionEngine.builder(backend, Wire.MESSAGES)
                .scheduler(scheduler)
                .build()
                .start();
        Opening.Opened opened = (Opening.Opened) TestBed.now(engine.open(Wire.initialize(), "", TestBed.LIFETIME));
        Session session = opened.session();
        session.call(TestBed.requests(1));
        scheduler.shutdownNow();

        CompletableFuture<Void> drained = engine.drain(TIMEOUT).toCompletableFuture();

        assertThat(drained).succeedsWithin(TIMEOUT);
        engine.close();
        assertThat(engine.size()).isZero();
    }
}
