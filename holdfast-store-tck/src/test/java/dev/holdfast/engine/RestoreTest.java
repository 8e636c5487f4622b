package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A fresh backend in the place of one that died: exactly one, brought to the old one's state, and everybody in order. */
class RestoreTest {
    private final TestBed bed = new TestBed();
    private final Session session = bed.open();
    private final TestBackend.Life first = bed.backend.life();

    @BeforeEach
    void fillTheJournal() {
        session.notify(Wire.notification("notifications/initialized", new JournalChange.Put("initialized")));
        succeed(1, "logging/setLevel debug", new JournalChange.Put("logging/setLevel"));
        succeed(2, "resources/subscribe a", new JournalChange.Put("resources/subscribe a"));
        succeed(3, "resources/subscribe b", new JournalChange.Put("resources/subscribe b"));
        succeed(4, "logging/setLevel info", new JournalChange.Put("logging/setLevel"));
        succeed(5, "resources/unsubscribe a", new JournalChange.Remove("resources/subscribe a"));
    }

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.backend.lives).allMatch(life -> life.closed > 0);
    }

    private Connection post(int id, String method, JournalChange journal) {
        InboundMessage request = Wire.request(Wire.id(id), method, journal);
        Call call = TestBed.accepted(session.call(List.of(request)));
        Connection connection = new Connection(call.reader().orElseThrow());
        call.dispatch();
        return connection;
    }

    private void succeed(int id, String method, JournalChange journal) {
        post(id, method, journal);
        bed.backend.life().call(id).respond();
    }

    private void die() {
        first.sink.lost("the process died");
    }

    private static final String[] REPLAYED = {
        "notifications/initialized", "logging/setLevel info 4", "resources/subscribe b 3"
    };

    @Test
    void theNextRequestFindsAFreshBackendInTheStateOfTheOldOne() {
        die();
        Connection post = bed.post(session, 10);
        TestBackend.Life fresh = bed.backend.life();
        assertThat(fresh.heard).containsExactly(with("tools/call 10"));
        assertThat(Wire.text(fresh.request.initialize().bytes())).isEqualTo("initialize 0");
        assertThat(fresh.request.incarnation()).isNotEqualTo(first.request.incarnation());
        assertThat(first.request.restores()).isFalse();
        assertThat(fresh.request.restores()).isTrue();
        assertThat(fresh.calls.get(0).request().context()).isSameAs(InboundMessage.NO_CONTEXT);
        fresh.call(10).respond();
        assertThat(post.read()).containsExactly("result 10");
        assertThat(bed.news.heard).containsExactly("created", "restored");
    }

    @Test
    void aFreshBackendThatIsAnotherIsTold() {
        Connection listening = TestBed.listen(session);
        bed.backend.introduction = "another";
        die();
        bed.post(session, 10);
        assertThat(listening.read()).containsExactly("list 1 changed");
        assertThat(bed.news.heard).containsExactly("created", "restored", "backend changed");
        bed.backend.life().call(10).respond();
    }

    private static String[] with(String... last) {
        String[] all = Arrays.copyOf(REPLAYED, REPLAYED.length + last.length);
        System.arraycopy(last, 0, all, REPLAYED.length, last.length);
        return all;
    }

    @Test
    void whatFailedIsNotInTheJournal() {
        post(6, "logging/setLevel wrong", new JournalChange.Put("logging/setLevel"));
        bed.backend.life().call(6).sink().send(Wire.refusal(Wire.id(6)));
        die();
        bed.post(session, 10);
        assertThat(bed.backend.life().heard).containsExactly(with("tools/call 10"));
    }

    @Test
    void whatTheOldOneHasAcceptedReachesTheNextThoughTheStoreHasItAfterTheReplay() {
        Call call = TestBed.accepted(session.call(TestBed.requests(10)));
        Connection post = new Connection(call.reader().orElseThrow());
        post(6, "resources/subscribe c", new JournalChange.Put("resources/subscribe c"));
        post(7, "resources/unsubscribe b", new JournalChange.Remove("resources/subscribe b"));
        bed.store.hold();
        first.call(6).respond();
        first.call(7).respond();
        die();
        call.dispatch();
        TestBackend.Life fresh = bed.backend.life();
        assertThat(fresh.heard).containsExactly(with("tools/call 10"));
        bed.store.release();
        assertThat(fresh.heard)
                .containsExactly(with("tools/call 10", "resources/subscribe c 6", "resources/unsubscribe b 7"));
        fresh.call(10).respond();
        assertThat(post.read()).containsExactly("result 10");
    }

    @Test
    void whatTheOldOneHasAcceptedWaitsForTheReplayOfTheNext() {
        Call call = TestBed.accepted(session.call(TestBed.requests(10)));
        post(6, "resources/subscribe c", new JournalChange.Put("resources/subscribe c"));
        bed.backend.answersReplayed = false;
        bed.store.hold();
        first.call(6).respond();
        die();
        call.dispatch();
        bed.store.release();
        TestBackend.Life fresh = bed.backend.life();
        assertThat(fresh.heard).containsExactly(REPLAYED);
        fresh.call(4).respond();
        fresh.call(3).respond();
        assertThat(fresh.heard).containsExactly(with("tools/call 10", "resources/subscribe c 6"));
        fresh.call(10).respond();
    }

    @Test
    void whatTheOldOneHasAcceptedOpensNoBackendOfItsOwn() {
        post(6, "resources/subscribe c", new JournalChange.Put("resources/subscribe c"));
        bed.store.hold();
        first.call(6).respond();
        die();
        bed.store.release();
        assertThat(bed.backend.lives).hasSize(1);
        bed.post(session, 10);
        assertThat(bed.backend.life().heard).containsExactly(with("resources/subscribe c 6", "tools/call 10"));
        bed.backend.life().call(10).respond();
    }

    @Test
    void everybodyWaitsForOneRestoreAndKeepsTheOrder() {
        die();
        bed.backend.slow = true;
        bed.post(session, 10);
        session.notify(Wire.notification("notifications/roots/list_changed"));
        bed.post(session, 11);
        assertThat(bed.backend.lives).hasSize(2);
        bed.backend.life().accept();
        assertThat(bed.backend.life().heard)
                .containsExactly(with("tools/call 10", "notifications/roots/list_changed", "tools/call 11"));
        assertThat(bed.news.heard).containsOnlyOnce("restored");
    }

    @Test
    void nobodyIsServedBeforeTheJournalIsAnswered() {
        die();
        bed.backend.answersReplayed = false;
        bed.post(session, 10);
        TestBackend.Life fresh = bed.backend.life();
        assertThat(fresh.heard).containsExactly(REPLAYED);
        fresh.call(3).respond();
        assertThat(fresh.heard).containsExactly(REPLAYED);
        fresh.call(4).respond();
        assertThat(fresh.heard).containsExactly(with("tools/call 10"));
    }

    @Test
    void whatTheReplayProvokesGoesToTheClientAndItsAnswerComesBack() {
        die();
        bed.backend.answersReplayed = false;
        bed.post(session, 10);
        TestBackend.Life fresh = bed.backend.life();
        fresh.sink.send(Wire.question("roots"));
        assertThat(TestBed.listen(session).read()).containsExactly("question roots");
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("roots")))))
                .isTrue();
        assertThat(fresh.heard).containsExactly(with("answer roots"));
    }

    @Test
    void aQuestionThatTheBackendTakesBackIsNotAskedAgainAndItsAnswerIsDropped() {
        die();
        bed.post(session, 10);
        TestBackend.Life fresh = bed.backend.life();
        fresh.sink.send(Wire.question("roots"));

        fresh.sink.withdrawn(new RequestId("roots"));

        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("roots")))))
                .isFalse();
        assertThat(fresh.heard).doesNotContain("answer roots");
    }

    @Test
    void anAnswerReachesABackendThatIsBeingOpened() {
        die();
        bed.backend.slow = true;
        bed.post(session, 10);
        TestBackend.Life fresh = bed.backend.life();
        fresh.sink.onAnswer(fresh::answer);
        fresh.sink.send(Wire.question("roots"));

        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("roots")))))
                .isTrue();
        assertThat(fresh.heard).containsExactly("answer roots");
        fresh.accept();
    }

    @Test
    void aNotificationOfTheJournalThatWaitsComesOnce() {
        die();
        bed.backend.slow = true;
        bed.post(session, 10);
        session.notify(Wire.notification("again", new JournalChange.Put("again")));
        bed.backend.life().accept();
        assertThat(bed.backend.life().heard).containsExactly(with("tools/call 10", "again"));
        bed.backend.slow = false;
        bed.backend.life().sink.lost("again");
        bed.post(session, 11);
        assertThat(bed.backend.life().heard).containsExactly(with("again", "tools/call 11"));
    }

    @Test
    void aNotificationOfTheJournalThatGotNoBackendComesWithTheNext() {
        die();
        bed.backend.slow = true;
        session.notify(Wire.notification("again", new JournalChange.Put("again")));
        bed.backend.life().stayAway();
        bed.backend.life().closed = 1;
        bed.backend.slow = false;
        Connection post = bed.post(session, 11);
        assertThat(bed.backend.life().heard).containsExactly(with("again", "tools/call 11"));
        bed.backend.life().call(11).respond();
        assertThat(post.read()).containsExactly("result 11");
    }

    @Test
    void aReplayedRequestThatIsGivenBackIsNotACallOfTheOneBeforeWithItsId() {
        first.meanwhile = request -> {
            die();
            Connection waiting = bed.post(session, 10);
            TestBackend.Life fresh = bed.backend.life();
            fresh.sink.lost("it forgot the session", List.of(fresh.call(3).request()));
            assertThat(waiting.read()).containsExactly("error 10 -32603: it forgot the session");
        };
        assertThat(bed.post(session, 3).read()).containsExactly("error 3 -32603: it forgot the session");
        assertThat(bed.backend.lives).hasSize(2);
    }

    @Test
    void aCallThatIsCancelledWhileItWaitsNeverReachesTheBackend() {
        die();
        bed.backend.slow = true;
        Connection post = bed.post(session, 10);
        session.cancel(Wire.id(10), Wire.cancelled(10));
        bed.backend.life().accept();
        assertThat(bed.backend.life().heard).containsExactly(REPLAYED);
        assertThat(post.reason()).isEqualTo(EndReason.CANCELLED);
    }

    @Test
    void settingsThatTheClientHasSentUnderOneIdAreReplayedOneAfterTheOther() {
        succeed(3, "resources/subscribe c", new JournalChange.Put("resources/subscribe c"));
        die();
        bed.backend.answersReplayed = false;
        Connection post = bed.post(session, 3);
        TestBackend.Life fresh = bed.backend.life();
        assertThat(fresh.heard).containsExactly(REPLAYED);
        fresh.call(3).respond();
        assertThat(fresh.heard).containsExactly(REPLAYED);
        fresh.call(4).respond();
        assertThat(fresh.heard).containsExactly(with("resources/subscribe c 3"));
        fresh.call(3).respond();
        assertThat(fresh.heard).containsExactly(with("resources/subscribe c 3", "tools/call 3"));
        fresh.call(3).respond();
        assertThat(post.read()).containsExactly("result 3");
    }

    @Test
    void aLargeJournalIsNotOnItsWayAllAtOnce() {
        for (int i = 100; i < 250; i++) {
            succeed(i, "resources/subscribe", new JournalChange.Put("resources/subscribe " + i));
        }
        die();
        bed.backend.answersReplayed = false;
        bed.post(session, 10);
        TestBackend.Life fresh = bed.backend.life();
        assertThat(fresh.calls).hasSize(100);
        List.copyOf(fresh.calls).forEach(TestBackend.Asked::respond);
        assertThat(fresh.calls).hasSize(152);
        fresh.calls.subList(100, 152).forEach(TestBackend.Asked::respond);
        assertThat(fresh.heard).endsWith("tools/call 10");
        fresh.call(10).respond();
    }

    @Test
    void aBackendThatRefusesEndsTheSession() {
        die();
        bed.backend.slow = true;
        Connection post = bed.post(session, 10);
        bed.backend.life().refuse();
        bed.backend.life().closed = 1;
        assertThat(post.read()).containsExactly("error 10 -32603: the backend refused the session");
        closedAsRestoreFailed();
    }

    @Test
    void aBackendOfAnotherRevisionEndsTheSession() {
        die();
        bed.backend.revision = "2024-11-05";
        Connection post = bed.post(session, 10);
        assertThat(post.read()).containsExactly("error 10 -32603: the backend now speaks revision 2024-11-05");
        closedAsRestoreFailed();
    }

    @Test
    void aBackendThatRefusesItsJournalEndsTheSession() {
        die();
        bed.backend.answersReplayed = false;
        Connection post = bed.post(session, 10);
        bed.backend.life().call(4).sink().send(Wire.refusal(Wire.id(4)));
        bed.backend.life().call(3).respond();
        assertThat(post.read()).containsExactly("error 10 -32603: the backend refused what it had accepted before");
        closedAsRestoreFailed();
    }

    @Test
    void aBackendThatThrowsOnItsJournalEndsTheSession() {
        assertThat(whoseBackendThrows(IllegalStateException::new).read()).hasSize(1);
        closedAsRestoreFailed();
    }

    @Test
    void aBackendWithoutMemoryForItsJournalIsTriedAgain() {
        assertThat(whoseBackendThrows(OutOfMemoryError::new).read())
                .containsExactly("error 10 -32603: the backend failed");
        bed.backend.slow = false;
        servedAgain();
    }

    private Connection whoseBackendThrows(Function<String, Throwable> failure) {
        die();
        bed.backend.slow = true;
        Connection post = bed.post(session, 10);
        bed.backend.life().failure = Optional.of(failure.apply("this backend is expected to fail"));
        bed.backend.life().accept();
        return post;
    }

    @Test
    void aBackendThatCannotBeOpenedIsTriedAgain() {
        die();
        bed.backend.unopened = Optional.of(new NoClassDefFoundError("this backend is expected to fail"));
        assertThat(bed.post(session, 10).read()).containsExactly("error 10 -32603: the backend could not be opened");
        bed.backend.unopened = Optional.empty();
        servedAgain();
    }

    @Test
    void aBackendThatFailsOnWhatHadWaitedForItServesTheNext() {
        die();
        bed.backend.slow = true;
        Connection first = bed.post(session, 10);
        Connection next = bed.post(session, 11);
        bed.backend.life().failure = Optional.of(new StackOverflowError("this backend is expected to fail"));
        bed.backend.life().failingOn = "tools/call 10";
        bed.backend.life().accept();
        assertThat(first.read()).containsExactly("error 10 -32603: internal error");
        bed.backend.life().call(11).respond();
        assertThat(next.read()).containsExactly("result 11");
    }

    @Test
    void aBackendThatDiesWhileItIsRestoredIsTriedAgain() {
        die();
        bed.backend.answersReplayed = false;
        Connection post = bed.post(session, 10);
        bed.backend.life().sink.lost("it died again");
        assertThat(post.read()).containsExactly("error 10 -32603: it died again");
        bed.backend.answersReplayed = true;
        servedAgain();
    }

    @Test
    void whatARestoreThatFailsHasAskedIsWithdrawn() {
        Connection listening = TestBed.listen(session);
        bed.backend.slow = true;
        die();
        bed.post(session, 10);
        TestBackend.Life second = bed.backend.life();
        second.sink.send(Wire.question("\"q\""));
        assertThat(listening.read()).containsExactly("question \"q\"");

        second.stayAway();
        second.closed++; // it left nothing behind

        assertThat(listening.read()).containsExactly("question \"q\"", "cancelled \"q\": it is away");
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("\"q\"")))))
                .isFalse();
    }

    @Test
    void theNodeStaysWithinItsLimitWhenTheJournalGrowsForThoseWhoWaited() {
        NodeLimits limits = NodeLimits.DEFAULT.withHistory(5_000, 1_000);
        try (TestBed small = new TestBed(SessionLimits.DEFAULT, limits)) {
            Session noisy = small.open();
            for (int i = 0; i < 100; i++) {
                small.backend.life().sink.send(Wire.notice("x".repeat(100)));
            }
            Session waiting = small.open();
            small.backend.life().sink.lost("the process died");
            small.backend.slow = true;
            for (int i = 0; i < 20; i++) {
                String subject = "subject " + i + "y".repeat(60);
                waiting.notify(Wire.notification("notifications/" + subject, new JournalChange.Put(subject)));
            }

            small.backend.life().accept();

            assertThat(small.engine.stats().historyBytes()).isLessThanOrEqualTo(5_000);
            assertThat(noisy.state()).isNotEqualTo(SessionState.CLOSED);
        }
    }

    private void servedAgain() {
        assertThat(session.state()).isNotEqualTo(SessionState.CLOSED);
        Connection next = bed.post(session, 11);
        assertThat(bed.backend.life().heard).containsExactly(with("tools/call 11"));
        bed.backend.life().call(11).respond();
        assertThat(next.read()).containsExactly("result 11");
        assertThat(bed.news.heard).endsWith("restored").doesNotContain("closed: RESTORE_FAILED");
    }

    @Test
    void aBackendThatCannotBeReachedIsTriedAgain() {
        die();
        bed.backend.slow = true;
        Connection post = bed.post(session, 10);
        bed.backend.life().stayAway();
        bed.backend.life().closed = 1;
        assertThat(post.read()).containsExactly("error 10 -32603: it is away");
        bed.backend.slow = false;
        servedAgain();
    }

    @Test
    void aBackendThatDiesBeforeItIsOpenIsTriedAgainAndIsClosedWhenItOpensAfterAll() {
        die();
        bed.backend.slow = true;
        bed.post(session, 10);
        TestBackend.Life dead = bed.backend.life();
        dead.sink.lost("it died at once");
        dead.accept();
        assertThat(dead.closed).isOne();
        bed.backend.slow = false;
        servedAgain();
    }

    @Test
    void aBackendThatDiesFromAWaitingCallIsReplacedForTheOthers() {
        die();
        bed.backend.slow = true;
        Connection poison = bed.post(session, 10);
        Connection innocent = bed.post(session, 11);
        bed.backend.life().dyingFrom = "tools/call 10";
        bed.backend.slow = false;
        bed.backend.life().accept();
        assertThat(poison.read()).containsExactly("error 10 -32603: it died of tools/call 10");
        assertThat(bed.backend.lives).hasSize(3);
        assertThat(bed.backend.life().heard).containsExactly(with("tools/call 11"));
        bed.backend.life().call(11).respond();
        assertThat(innocent.read()).containsExactly("result 11");
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
    }

    private void closedAsRestoreFailed() {
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.find(session.id(), "")).isEmpty();
        assertThat(bed.news.heard).endsWith("closed: RESTORE_FAILED").doesNotContain("restored");
    }

    @Test
    void aBackendThatDoesNotAnswerItsJournalIsTriedAgain() {
        die();
        bed.backend.answersReplayed = false;
        Connection post = bed.post(session, 10);
        bed.pass(Duration.ofSeconds(29));
        assertThat(post.read()).isEmpty();

        bed.pass(Duration.ofSeconds(2));

        assertThat(post.read())
                .containsExactly("error 10 -32603: the backend does not answer what it had answered before");
        bed.backend.answersReplayed = true;
        servedAgain();
    }

    @Test
    void aBackendThatIsRestoredIsNotDisturbedLater() {
        die();
        Connection post = bed.post(session, 10);
        bed.pass(Duration.ofSeconds(31));
        bed.backend.life().call(10).respond();
        assertThat(post.read()).containsExactly("result 10");
    }
}
