package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.spi.JournalChange;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What a client has set on one node cannot be read on another, where its session is too. */
class UnreadJournalTest {
    private static final String INITIALIZED = "notifications/initialized";
    private static final String ENDED = "closed: RESTORE_FAILED";

    @AutoClose
    private final ClusterBed bed = new ClusterBed(2);

    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);
    private final Logger logger = (Logger) LoggerFactory.getLogger("dev.holdfast");
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    @BeforeEach
    void listen() {
        log.start();
        logger.addAppender(log);
        logger.setAdditive(false);
        logger.setLevel(Level.WARN);
    }

    @AfterEach
    void listenNoMore() {
        logger.detachAppender(log);
        logger.setAdditive(true);
        logger.setLevel(null);
    }

    private void sets(Session session, String what) {
        assertThat(bed.now(session.notify(Wire.notification(what, new JournalChange.Put(what)))))
                .isEmpty();
        bed.settle();
    }

    /** The second node knows of it, and could not read it at once. */
    private void setsUnread(Session session, String what) {
        second.store.fail(FlakyCluster.Question.LOOK, true);
        sets(session, what);
        second.store.fail(FlakyCluster.Question.LOOK, false);
    }

    @Test
    void aStoreThatDoesNotAnswerFillsNoLog() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.fail(FlakyCluster.Question.LOOK, true);
        sets(here, INITIALIZED);
        for (int i = 1; i <= 100; i++) {
            assertThat(there.call(TestBed.requests(i)).toCompletableFuture()).isCompletedExceptionally();
        }
        assertThat(log.list).hasSizeLessThanOrEqualTo(20);
    }

    private void isGone(Session session) {
        bed.settle();
        assertThat(first.has(session)).isFalse();
        assertThat(second.has(session)).isFalse();
    }

    @Test
    void aCallThatDoesNotRunForItIsToldInTheLog() {
        Session here = first.open();
        Session there = second.find(here);
        second.store.fail(FlakyCluster.Question.LOOK, true);
        sets(here, INITIALIZED);
        log.list.clear();
        assertThat(there.call(TestBed.requests(1)).toCompletableFuture()).isCompletedExceptionally();
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("session " + here.shortId()
                        + ": a call does not run, for what other nodes have set could not be read: "
                        + "dev.holdfast.StoreUnavailableException: the session store is not available");
    }

    @Test
    void theCallOfADeadNodeIsGivenUpWithTheLeaseAlone() {
        bed.nodes.forEach(node -> node.backend.harmless = "tools/call");
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        setsUnread(here, INITIALIZED);
        Connection call = bed.post(here, 2);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        second.store.hold(FlakyCluster.Question.READ);
        CompletionStage<Resume> resume = there.resume(call.cursor());
        bed.settle();
        second.store.fail(FlakyCluster.Question.LOOK, true);
        second.store.letGo();
        bed.pass(ClusterBed.LEASE.multipliedBy(2));
        assertThat(resume.toCompletableFuture()).isDone();
        assertThat(second.news.heard).doesNotContain("parked");
        second.store.shut();
        bed.pass(ClusterBed.LEASE.plusSeconds(2));
        assertThat(second.news.heard).endsWith("parked");
        assertThat(second.backend.life().heard).containsExactly("tools/call 1");
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .contains("session " + here.shortId()
                        + ": a call is not run again, for what other nodes have set could not be read: "
                        + "dev.holdfast.StoreUnavailableException: the session store is not available");
        second.store.fail(FlakyCluster.Question.LOOK, false);
        second.store.open();
        bed.pass(Duration.ofSeconds(2));
        assertThat(second.has(here)).isTrue();
    }

    @Test
    void aCallWhoseAnswerIsOnItsWayIsReadByItsClient() {
        Lifetime brief = TestBed.LIFETIME.withCall(Duration.ofSeconds(1));
        Session here = ((Opening.Opened) TestBed.now(first.engine.open(Wire.initialize(), "", brief))).session();
        Session there = second.find(here);
        setsUnread(here, INITIALIZED);
        second.store.hold(FlakyCluster.Question.LOOK);
        CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
        bed.settle();
        second.store.decree(Collections.nCopies(10, FlakyCluster.Fate.LOST).toArray(FlakyCluster.Fate[]::new));
        bed.pass(Duration.ofSeconds(2));
        assertThat(second.engine.stats().timedOut()).isOne();
        assertThat(second.engine.stats().runningCalls())
                .as("the store does not have its answer")
                .isOne();
        second.store.fail(FlakyCluster.Question.LOOK, true);
        second.store.letGo();
        Connection call = bed.connected(outcome);
        bed.pass(Duration.ofSeconds(2));
        assertThat(bed.read(call)).containsExactly("error 1 -32603: the call took longer than 1 s");
        assertThat(second.backend.life().heard).doesNotContain("tools/call 1");
    }

    @Test
    void aSessionWhoseRecordIsDamagedEndsAtItsNextCall() {
        Session here = first.open();
        Session there = second.find(here);
        setsUnread(here, INITIALIZED);
        second.store.damage(FlakyCluster.Question.LOOK);
        assertThat(TestBed.now(there.call(TestBed.requests(1)))).isEqualTo(new Call.Closed(EndReason.RESTORE_FAILED));
        assertThat(second.news.heard).endsWith(ENDED);
        isGone(here);
    }

    @Test
    void aSessionWhoseJournalMakesNoSenseEndsAtItsNextCall() {
        Session here = first.open();
        Session there = second.find(here);
        setsUnread(here, "nonsense");
        assertThat(TestBed.now(there.call(TestBed.requests(1)))).isEqualTo(new Call.Closed(EndReason.RESTORE_FAILED));
        assertThat(second.news.heard).endsWith(ENDED);
        isGone(here);
    }

    @Test
    void itEndsWhereACallOfADeadNodeIsToRunAgain() {
        bed.nodes.forEach(node -> node.backend.harmless = "tools/call");
        Session here = first.open();
        Session there = second.find(here);
        bed.post(there, 1);
        setsUnread(here, "nonsense");
        Connection call = bed.post(here, 2);
        first.die();
        bed.pass(ClusterBed.LEASE.plusMillis(1));
        CompletionStage<Resume> resume = there.resume(call.cursor());
        bed.settle();
        assertThat(resume.toCompletableFuture()).isDone();
        assertThat(second.news.heard).endsWith(ENDED);
        assertThat(second.backend.life().heard).containsExactly("tools/call 1");
        assertThat(second.has(here)).isFalse();
    }

    @Test
    void itEndsWhereANotificationAsksWhoHasInitializedIt() {
        Session here = ((Opening.Awaiting) TestBed.now(second.engine.open("", TestBed.LIFETIME))).session();
        Session there = first.find(here);
        TestBed.accepted(there.call(List.of(Wire.initialize()))).dispatch();
        bed.settle();
        second.store.damage(FlakyCluster.Question.LOOK);
        CompletionStage<Optional<Refusal>> told = here.notify(Wire.notification(INITIALIZED));
        bed.settle();
        assertThat(TestBed.now(told)).isPresent();
        assertThat(second.news.heard).endsWith(ENDED);
        isGone(here);
    }

    @Test
    void itEndsWhereAnotherNodeForwardsACallToItsOnlyBackend() {
        try (ClusterBed once = ClusterBed.once(2)) {
            Session here = once.node(0).open();
            Session there = once.node(1).find(here);
            once.node(0).store.fail(FlakyCluster.Question.LOOK, true);
            assertThat(once.now(there.notify(Wire.notification(INITIALIZED, new JournalChange.Put(INITIALIZED)))))
                    .isEmpty();
            once.settle();
            once.node(0).store.fail(FlakyCluster.Question.LOOK, false);
            once.node(0).store.damage(FlakyCluster.Question.LOOK);
            CompletionStage<Call.Outcome> outcome = there.call(TestBed.requests(1));
            once.settle();
            assertThat(TestBed.now(outcome)).isInstanceOf(Call.Closed.class);
            assertThat(once.node(0).news.heard).endsWith(ENDED);
        }
    }
}
