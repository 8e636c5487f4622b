package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Finding.Missing;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.Unavailable;
import dev.holdfast.engine.TestStore.Fate;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A session whose process has ended, in the next process over the same store. */
class RestartTest {
    private final TestBed bed = TestBed.durable();
    private Session session = bed.open();
    private final String id = session.id();

    @AfterEach
    void close() {
        bed.close();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.backend.lives).allMatch(life -> life.closed > 0);
    }

    private void restart() {
        bed.die();
        session = bed.find(id, "").orElseThrow();
    }

    private TestBackend.Life backend() {
        return bed.backend.life();
    }

    @Test
    void whatSomebodyMayComeBackForMakesNoRoomForOthers() {
        try (TestBed small = TestBed.durable(new SessionLimits(1 << 20, 100, 1 << 20, 16, 20, 10))) {
            Session before = small.open();
            Call call = TestBed.accepted(before.call(TestBed.requests(1)));
            call.dispatch();
            call.note(new byte[] {1});
            small.backend.life().call(1).respond();
            small.die();
            Session after = small.find(before.id(), "").orElseThrow();
            for (int id = 2; id < 24; id++) {
                Connection post = small.post(after, id);
                small.backend.life().call(id).respond();
                post.reason();
                post.inOrder();
            }
            assertThat(TestBed.now(after.kept(call.stream())).orElseThrow().events())
                    .extracting(event -> event.kind())
                    .containsExactly(EventKind.NOTE, EventKind.RESPONSE);
            small.pass(Lifetime.DEFAULT.grace().plusSeconds(1));
            assertThat(TestBed.now(after.kept(call.stream()))).isEmpty();
        }
    }

    /** The response of a call, and all else that was sent, is lost in the store, and the record is not. */
    @Test
    void aResponseThatTheStoreHasLostIsNotPassedOver() {
        Connection post = bed.post(session, 1);
        backend().call(1).sink().send(Wire.progress("1"));
        post.read();
        post.broken();
        backend().call(1).respond();
        bed.store.kept.loseEvents(SessionKey.of(id, ""));
        restart();
        assertThat(bed.news.heard).contains("gap on " + stream(post));
        assertThat(TestBed.now(session.resume(post.cursor()))).isInstanceOf(Resume.Unknown.class);
    }

    @Test
    void ofACallThatRanAGapIsToldAndItsErrorIsRead() {
        Connection post = bed.post(session, 1);
        backend().call(1).sink().send(Wire.progress("1"));
        bed.store.kept.loseEvents(SessionKey.of(id, ""));
        restart();
        Connection again = Connection.gap(session.resume(post.cursor()));
        assertThat(again.read()).singleElement(STRING).startsWith("error 1 -32603: the server ended");
    }

    /** The store has lost its last writes: the client was told of more progress than is kept. */
    @Test
    void progressDoesNotGoBackWhereTheStoreMayHaveLostWhatTheClientWasTold() {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        backend().call(1).sink().send(Wire.progress("1"));
        bed.store.certainFrom = 2;
        restart();
        Connection again = Connection.gap(session.resume(post.cursor()));
        again.read();
        backend().call(1).sink().send(Wire.progress("2"));
        backend().call(1).respond();
        assertThat(again.read()).containsExactly("1", "result 1");
        assertThat(again.cursor().offset())
                .as("behind those that may have been given")
                .isGreaterThan(SessionStore.LEFT_OUT);
    }

    private static String stream(Connection connection) {
        return connection.cursor().stream().epoch() + "."
                + connection.cursor().stream().number();
    }

    @Test
    void itGoesOnWithAFreshBackendInTheStateOfTheOldOne() {
        session.notify(Wire.notification("initialized", new JournalChange.Put("initialized")));
        TestBackend.Life old = backend();
        restart();
        assertThat(backend().request.incarnation()).isNotEqualTo(old.request.incarnation());
        assertThat(backend().request.restores()).isTrue();
        assertThat(Wire.text(backend().request.initialize().bytes())).isEqualTo("initialize 0");
        assertThat(backend().heard).containsExactly("initialized");
        Connection post = bed.post(session, 1);
        backend().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
        assertThat(session.id()).isEqualTo(id);
        assertThat(session.revision()).isEqualTo(TestBackend.REVISION);
        assertThat(bed.news.heard).containsExactly("created", "restored", "reconnected");
    }

    @Test
    void itComesBackOnceHoweverManyAskForIt() {
        bed.die();
        bed.store.claims = 0;
        bed.store.hold();
        CompletionStage<Finding> one = bed.engine.find(id, "");
        CompletionStage<Finding> other = bed.engine.find(id, "");
        assertThat(one.toCompletableFuture()).isNotDone();
        bed.store.release();
        assertThat(((Found) TestBed.now(one)).session()).isSameAs(((Found) TestBed.now(other)).session());
        assertThat(bed.store.claims).isOne();
        assertThat(bed.backend.lives).hasSize(2);
    }

    @Test
    void aBackendThatIsAnotherAfterTheRestartIsTold() {
        Connection listening = TestBed.listen(session);
        restart();
        assertThat(TestBed.resume(session, listening).read()).isEmpty();
        bed.backend.introduction = "another";
        restart();
        assertThat(TestBed.resume(session, listening).read()).containsExactly("list 1 changed");
        restart();
        assertThat(TestBed.resume(session, listening).read()).containsExactly("list 1 changed");
        assertThat(bed.news.heard).containsOnlyOnce("backend changed");
    }

    /** The store fails when it is to be kept that the backend is another, or right before. */
    static Stream<List<Fate>> failures() {
        return Stream.of(List.of(Fate.DONE, Fate.DONE, Fate.LOST), List.of(Fate.DONE, Fate.LOST, Fate.LOST));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void thatItIsAnotherIsToldOnceThoughTheStoreFails(List<Fate> fates) {
        Connection listening = TestBed.listen(session);
        bed.backend.introduction = "another";
        bed.die();
        bed.store.decree(fates.toArray(Fate[]::new));
        session = bed.find(id, "").orElseThrow();
        bed.pass(Duration.ofSeconds(1));
        assertThat(TestBed.resume(session, listening).read()).containsExactly("list 1 changed");
        restart();
        assertThat(TestBed.resume(session, listening).read()).containsExactly("list 1 changed");
        assertThat(bed.news.heard).containsOnlyOnce("backend changed");
    }

    @Test
    void onlyItsPrincipalFindsIt() {
        bed.die();
        assertThat(TestBed.now(bed.engine.find(id, "mallory"))).isInstanceOf(Missing.class);
        assertThat(TestBed.now(bed.engine.find("no such id", ""))).isInstanceOf(Missing.class);
        assertThat(bed.backend.lives).hasSize(1);
    }

    @Test
    void whatWasCommittedIsDelivered() {
        Connection post = bed.post(session, 1);
        Connection listening = TestBed.listen(session);
        backend().sink.send(Wire.notice("read"));
        assertThat(listening.read()).containsExactly("read");
        backend().sink.send(Wire.notice("unread"));
        backend().call(1).respond();
        restart();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
        assertThat(TestBed.resume(session, listening).read()).containsExactly("unread");
        backend().sink.send(Wire.notice("later"));
        assertThat(TestBed.resume(session, listening).read()).containsExactly("unread", "later");
        assertThat(bed.news.heard).doesNotContain("gap on 0.0");
    }

    @Test
    void aCompletedStreamHasAnEndForWhoeverHasReadIt() {
        Connection post = bed.post(session, 1);
        backend().call(1).respond();
        post.read();
        restart();
        assertThat(TestBed.now(session.resume(post.cursor()))).isEqualTo(new Resume.Ended());
    }

    @Test
    void aResponseThatMayHaveBeenDeliveredIsKeptForTheGracePeriod() {
        Lifetime shortMemory = TestBed.LIFETIME.withRetention(Duration.ofSeconds(1));
        session = bed.open(shortMemory);
        Connection post = bed.post(session, 1);
        backend().call(1).respond();
        post.inOrder();
        bed.die();
        session = bed.find(session.id(), "").orElseThrow();
        TestBed.listen(session);
        bed.pass(TestBed.GRACE.minusSeconds(1));
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void responsesThatMayNotHaveBeenDeliveredAreKeptHoweverMany() {
        SessionLimits few = new SessionLimits(1 << 20, 1000, 1 << 20, 1000, 1, 64);
        try (TestBed other = TestBed.durable(few)) {
            Session before = other.open();
            Connection first = other.post(before, 1);
            Connection second = other.post(before, 2);
            other.backend.life().call(1).respond();
            other.backend.life().call(2).respond();
            other.die();
            Session after = other.find(before.id(), "").orElseThrow();
            assertThat(TestBed.resume(after, first).read()).containsExactly("result 1");
            assertThat(TestBed.resume(after, second).read()).containsExactly("result 2");
        }
    }

    @Test
    void aClientThatHasListenedIsExpectedForTheGracePeriod() {
        TestBed.listen(session);
        bed.pass(Duration.ofSeconds(1));
        restart();
        restart();
        assertThat(backend().sink.followed()).isTrue();
        assertThat(backend().sink.attached()).isFalse();
        Connection post = bed.post(session, 1);
        bed.pass(TestBed.GRACE);
        assertThat(backend().sink.followed()).isFalse();
        TestBed.listen(session);
        assertThat(backend().sink.followed()).isTrue();
        post.broken();
    }

    @Test
    void aClientThatHasNeverListenedIsNotExpectedTo() {
        bed.post(session, 1);
        bed.pass(Duration.ofSeconds(1));
        restart();
        assertThat(backend().sink.followed()).isFalse();
    }

    private static final String INTERRUPTED =
            " -32603: the server ended while this call was running; whether it had any effect is not known";

    @Test
    void aCallThatRanGetsADefiniteErrorOnItsOwnStream() {
        Connection post = bed.post(session, 1);
        backend().call(1).sink().send(Wire.progress("half"));
        assertThat(post.read()).containsExactly("half");
        restart();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        Connection back = TestBed.resume(session, post);
        assertThat(back.read()).containsExactly("error 1" + INTERRUPTED);
        assertThat(back.reason()).isEqualTo(EndReason.COMPLETED);
        assertThat(backend().heard).isEmpty();
    }

    @Test
    void ofABatchOnlyTheUnansweredRequestsGetTheError() {
        Connection post = bed.post(session, 1, 2, 3);
        backend().call(2).respond();
        restart();
        assertThat(TestBed.resume(session, post).read())
                .containsExactly("result 2", "error 1" + INTERRUPTED, "error 3" + INTERRUPTED);
    }

    @Test
    void aRequestIdOfACallThatWasInterruptedIsFree() {
        bed.post(session, 1);
        restart();
        Connection post = bed.post(session, 1);
        backend().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    private Connection harmlessWithTwoSteps() {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        steps(2);
        assertThat(post.read()).hasSize(2);
        return post;
    }

    private void steps(int last) {
        for (int i = 1; i <= last; i++) {
            backend().call(1).sink().send(Wire.progress("progress " + i));
        }
    }

    @Test
    void aCallThatMayBeRunAgainIsAndItsProgressContinues() {
        Connection post = harmlessWithTwoSteps();
        restart();
        assertThat(backend().heard).containsExactly("tools/call 1");
        steps(3);
        backend().call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("progress 3", "result 1");
    }

    @Test
    void progressThatTheClientHasConfirmedIsNotRepeatedByTheNextRun() {
        Connection post = harmlessWithTwoSteps();
        post.broken();
        Connection back = TestBed.resume(session, post);
        restart();
        steps(3);
        assertThat(TestBed.resume(session, back).read()).containsExactly("progress 3");
        backend().call(1).respond();
    }

    @Test
    void aCallThatEveryProcessDiesOfIsNotRunForEver() {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        restart();
        restart();
        assertThat(backend().heard).containsExactly("tools/call 1");
        restart();
        assertThat(backend().heard).isEmpty();
        assertThat(TestBed.resume(session, post).read()).containsExactly("error 1" + INTERRUPTED);
    }

    private void asks(String words, int id) {
        backend().call(1).sink().send(Wire.question(words, id));
    }

    private boolean answers(String words, int id) {
        return TestBed.now(session.answer(Wire.answer(words, id)));
    }

    @Test
    void whatWasAnsweredIsNotAskedAgainByTheNextRun() {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        asks("who", 1);
        asks("who", 2);
        asks("where", 3);
        assertThat(answers("Ann", 1)).isTrue();
        assertThat(answers("here", 3)).isTrue();
        assertThat(answers("Bob", 2)).isTrue();
        for (int life = 1; life <= 2; life++) {
            restart();
            asks("where", 10 * life);
            asks("who", 10 * life + 1);
            asks("who", 10 * life + 2);
            assertThat(backend().heard)
                    .containsExactly(
                            "tools/call 1", "here! " + 10 * life, "Ann! " + (10 * life + 1), "Bob! " + (10 * life + 2));
        }
        asks("who", 30);
        assertThat(backend().heard).as("a third time").hasSize(4);
        Connection back = TestBed.resume(session, post);
        assertThat(back.read()).contains("who? 30").noneMatch(text -> text.matches(".*[?] [12].+"));
        assertThat(answers("Cid", 30)).isTrue();
        backend().call(1).respond();
        assertThat(back.read()).endsWith("result 1");
    }

    @Test
    void anAnswerBeforeThatToAnEqualOlderQuestionIsNotGivenToAnother() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        asks("who", 1);
        asks("who", 2);
        assertThat(answers("Bob", 2)).isTrue();
        assertThat(answers("Ann", 1)).isTrue();
        restart();
        asks("who", 10);
        assertThat(backend().heard).containsExactly("tools/call 1");
        backend().call(1).respond();
    }

    @Test
    void behindAnAnswerThatCannotBeKeptNoneIs() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        asks("what", 1);
        asks("who", 2);
        asks("who", 3);
        asks("where", 4);
        assertThat(answers("it", 1)).isTrue();
        assertThat(answers("A".repeat(1 << 16), 2)).isTrue();
        assertThat(answers("Ann", 3)).isTrue();
        assertThat(TestBed.now(session.answer(Wire.answer(Wire.id(4))))).isTrue();
        restart();
        asks("who", 5);
        asks("where", 6);
        asks("what", 7);
        assertThat(backend().heard).containsExactly("tools/call 1", "it! 7");
        backend().call(1).respond();
    }

    @Test
    void aBackendThatGetsACallBackHasTheAnswersOfItsClientAndSoHasTheNextProcess() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        asks("who", 1);
        assertThat(answers("Ann", 1)).isTrue();
        backend().sink.lost("it forgot the session", List.of(backend().call(1).request()));
        asks("who", 2);
        assertThat(backend().heard).containsExactly("tools/call 1", "Ann! 2");
        asks("who", 3);
        assertThat(answers("Bob", 3)).isTrue();
        restart();
        asks("who", 4);
        asks("who", 5);
        assertThat(backend().heard).containsExactly("tools/call 1", "Ann! 4", "Bob! 5");
        backend().call(1).respond();
    }

    @Test
    void anErrorIsNoAnswerThatIsKept() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        asks("who", 1);
        assertThat(TestBed.now(session.answer(Wire.answer(Wire.id(1))))).isTrue();
        restart();
        asks("who", 2);
        assertThat(backend().heard).containsExactly("tools/call 1");
        backend().call(1).respond();
    }

    @Test
    void anAnswerIsKeptThoughTheStoreFails() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        asks("who", 1);
        bed.store.decree(Fate.LOST);
        CompletionStage<Boolean> taken = session.answer(Wire.answer("Ann", 1));
        assertThat(backend().heard)
                .as("the backend does not wait for the store")
                .contains("Ann! 1");
        bed.pass(Duration.ofSeconds(1));
        assertThat(TestBed.now(taken)).isTrue();
        restart();
        asks("who", 2);
        assertThat(backend().heard).containsExactly("tools/call 1", "Ann! 2");
        backend().call(1).respond();
    }

    @Test
    void anAnswerCountsAsTakenWhenItIsKept() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        asks("who", 1);
        bed.store.hold();
        CompletionStage<Boolean> taken = session.answer(Wire.answer("Ann", 1));
        assertThat(taken.toCompletableFuture()).isNotDone();
        bed.store.release();
        assertThat(TestBed.now(taken)).isTrue();
        backend().call(1).respond();
    }

    /** Whoever goes on with it knows what was answered, and asks nothing twice. */
    @Test
    void answersAreNotGivenToACallThatIsGoneOnWith() {
        bed.backend.harmless = "tools/call";
        bed.backend.answersReplayed = false;
        bed.post(session, 1);
        asks("who", 1);
        assertThat(answers("Ann", 1)).isTrue();
        goesOn();
        asks("who", 2);
        assertThat(answers("Bob", 2)).isTrue();
        restart();
        asks("who", 3);
        assertThat(backend().heard).containsExactly("tasks/result 1");
        backend().call(1).respond();
    }

    @Test
    void whatTheRecordOfACallKeepsCountsUntilTheCallIsOver() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        long before = bed.engine.stats().historyBytes();
        asks("who", 1);
        assertThat(answers("A".repeat(10_000), 1)).isTrue();
        assertThat(bed.engine.stats().historyBytes()).isGreaterThan(before + 10_000);
        backend().call(1).respond();
        assertThat(bed.engine.stats().historyBytes()).isLessThan(before + 1_000);
    }

    private void goesOn() {
        backend().call(1).sink().continueBy(Wire.request(Wire.id(1), "tasks/result", JournalChange.NONE));
    }

    @Test
    void aCallIsGoneOnWithByTheRequestThatItsBackendHasNamedAsOftenAsThatNamesIt() {
        bed.backend.answersReplayed = false;
        Connection post = bed.post(session, 1);
        for (int i = 0; i < 5; i++) {
            goesOn();
            restart();
            assertThat(backend().heard).containsExactly("tasks/result 1");
        }
        backend().call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void aCallThatHasEndedIsNotGoneOnWith() {
        bed.post(session, 1);
        backend().call(1).respond();
        goesOn();
        restart();
        assertThat(backend().heard).isEmpty();
    }

    @Test
    void aCallIsGoneOnWithThoughTheStoreFails() {
        bed.backend.answersReplayed = false;
        Connection post = bed.post(session, 1);
        bed.store.decree(Fate.LOST);
        goesOn();
        bed.pass(Duration.ofSeconds(1));
        restart();
        assertThat(backend().heard).containsExactly("tasks/result 1");
        backend().call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatBelongsOnTheThreadOfItsRequestIsNotRunAgain(boolean fromTheStart) {
        bed.backend.harmless = "tools/call";
        bed.backend.immediate = fromTheStart;
        Connection post = bed.post(session, 1);
        bed.backend.immediate = true;
        restart();
        assertThat(backend().heard).isEmpty();
        assertThat(TestBed.resume(session, post).read()).containsExactly("error 1" + INTERRUPTED);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallOfACarrierIsRunAgainOnlyIfSomebodyMayComeBackForIt(boolean mayComeBack) {
        bed.backend.harmless = "tools/call";
        session = ((Opening.Opened) TestBed.now(bed.engine.openCarrier(Wire.initialize(), "", TestBed.LIFETIME)))
                .session();
        Call call = TestBed.accepted(session.call(TestBed.requests(1)));
        Connection post = new Connection(call.reader().orElseThrow());
        call.dispatch();
        backend().call(1).sink().send(Wire.progress("1"));
        post.read();
        if (mayComeBack) {
            assertThat(TestBed.now(call.note(Wire.bytes("note")))).isTrue();
        }
        for (int i = 0; i < 2; i++) {
            bed.die();
            session = bed.find(session.id(), "").orElseThrow();
            assertThat(backend().heard).isEqualTo(mayComeBack ? List.of("tools/call 1") : List.of());
            assertThat(TestBed.now(session.kept(call.stream())).orElseThrow().complete())
                    .isNotEqualTo(mayComeBack);
            assertThat(bed.engine.stats().runningCalls()).isEqualTo(mayComeBack ? 1 : 0);
        }
    }

    @Test
    void itIsRunAgainWhenTheStoreHasCountedThat() {
        bed.backend.harmless = "tools/call";
        bed.post(session, 1);
        bed.die();
        bed.store.hold();
        CompletionStage<Finding> found = bed.engine.find(id, "");
        bed.store.next().become(Fate.DONE);
        assertThat(found.toCompletableFuture()).isCompleted();
        assertThat(backend().heard).isEmpty();
        bed.store.release();
        assertThat(backend().heard).containsExactly("tools/call 1");
    }

    @Test
    void itsRunsAreCountedThoughTheStoreFails() {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        bed.die();
        bed.store.decree(Fate.DONE, Fate.LOST);
        session = bed.find(id, "").orElseThrow();
        assertThat(backend().heard).containsExactly("tools/call 1");
        restart();
        assertThat(backend().heard).containsExactly("tools/call 1");
        restart();
        assertThat(backend().heard).isEmpty();
        assertThat(TestBed.resume(session, post).read()).containsExactly("error 1" + INTERRUPTED);
    }

    @ParameterizedTest
    @EnumSource(names = {"LOST", "KEPT"})
    void itIsRunAgainThoughTheStoreFailsForLong(Fate countOfTheRun) {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        bed.die();
        bed.store.decree(Fate.DONE, Fate.DONE, countOfTheRun);
        bed.store.decree(Collections.nCopies(6, Fate.LOST).toArray(Fate[]::new));
        session = bed.find(id, "").orElseThrow();
        bed.pass(Duration.ofSeconds(5));
        assertThat(backend().heard).isEmpty();
        bed.pass(Duration.ofSeconds(5));
        assertThat(backend().heard).containsExactly("tools/call 1");
        backend().call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void aQuestionThatWasOpenIsWithdrawnWhereItWasAsked() {
        Connection post = bed.post(session, 1);
        Connection listening = TestBed.listen(session);
        backend().call(1).sink().send(Wire.question("mine"));
        backend().sink.send(Wire.question("general"));
        assertThat(post.read()).containsExactly("question mine");
        assertThat(listening.read()).containsExactly("question general");
        restart();
        assertThat(TestBed.resume(session, post).read())
                .containsExactly("cancelled mine: the server that asked has ended", "error 1" + INTERRUPTED);
        assertThat(TestBed.resume(session, listening).read())
                .containsExactly("cancelled general: the server that asked has ended");
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("general")))))
                .isFalse();
        restart();
        assertThat(TestBed.resume(session, listening).read())
                .containsExactly("cancelled general: the server that asked has ended");
    }

    @Test
    void aQuestionThatWasAnsweredIsNeitherWithdrawnNorAskedAgain() {
        Connection listening = TestBed.listen(session);
        backend().sink.send(Wire.question("general"));
        backend().sink.send(Wire.notice("later"));
        assertThat(listening.read()).containsExactly("question general", "later");
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("general")))))
                .isTrue();
        restart();
        assertThat(TestBed.resume(session, listening).read()).isEmpty();
        restart();
        assertThat(TestBed.listen(session).read()).containsExactly("later");
        assertThat(bed.news.heard).doesNotContain("gap");
    }

    @Test
    void aListenerWithoutCursorBeginsWhereItHadSurelyReadToAFewSecondsBefore() {
        Connection listening = TestBed.listen(session);
        backend().sink.send(Wire.notice("old"));
        listening.read();
        long now = bed.time.getAsLong();
        listening.reader.wrote(now, now);
        long later = now + TimeUnit.MILLISECONDS.toNanos(100);
        listening.reader.wrote(later, later);
        bed.pass(Duration.ofSeconds(6));
        backend().sink.send(Wire.notice("new"));
        restart();
        assertThat(TestBed.listen(session).read()).containsExactly("new");
    }

    @Test
    void whereTheStoreMayHaveLostSomethingEveryCursorFromBeforeIsAPossibleGap() {
        Connection listening = TestBed.listen(session);
        backend().sink.send(Wire.notice("read"));
        listening.read();
        bed.store.certainFrom = 2;
        restart();
        Connection back = Connection.gap(session.resume(listening.cursor()));
        backend().sink.send(Wire.notice("new"));
        assertThat(back.read()).containsExactly("new");
        assertThat(TestBed.resume(session, back).read()).isEmpty();
        assertThat(bed.news.heard).containsOnlyOnce("gap on 0.0");
    }

    @Test
    void aTailThatWasLostIsAGap() {
        Connection listening = TestBed.listen(session);
        backend().sink.send(Wire.notice("kept"));
        listening.read();
        EventId beyond = beyond(listening);
        restart();
        Connection back = Connection.gap(session.resume(beyond));
        backend().sink.send(Wire.notice("new"));
        assertThat(back.read()).containsExactly("new");
    }

    /** Where a client stands that has read three messages more, which the store has lost with its power. */
    private static EventId beyond(Connection connection) {
        EventId kept = connection.cursor();
        return new EventId(kept.stream(), kept.epoch(), kept.offset() + 3);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5})
    void whatCameInThePlaceOfALostTailIsNotTakenForIt(int notices) {
        Connection listening = TestBed.listen(session);
        backend().sink.send(Wire.notice("kept"));
        listening.read();
        EventId beyond = beyond(listening);
        restart();
        List<String> fresh =
                IntStream.range(0, notices).mapToObj(i -> "new " + i).toList();
        fresh.forEach(text -> backend().sink.send(Wire.notice(text)));
        Connection back = Connection.gap(session.resume(beyond));
        assertThat(back.read()).containsExactlyElementsOf(fresh);
        assertThat(TestBed.resume(session, back).read()).isEmpty();
    }

    /** A call that has sent its first message. */
    private Connection begunCall() {
        Connection post = bed.post(session, 1);
        backend().call(1).sink().send(Wire.notice("kept"));
        post.read();
        return post;
    }

    @Test
    void aCallWhoseTailWasLostStillHasItsEnd() {
        EventId beyond = beyond(begunCall());
        restart();
        assertThat(Connection.gap(session.resume(beyond)).read()).containsExactly("error 1" + INTERRUPTED);
    }

    @Test
    void aForgottenCallWhoseTailWasLostStillHasItsEnd() {
        Connection post = begunCall();
        EventId beyond = beyond(post);
        restart();
        Connection other = TestBed.resume(session, post);
        assertThat(other.read()).containsExactly("error 1" + INTERRUPTED);
        assertThat(TestBed.now(session.resume(other.cursor()))).isInstanceOf(Resume.Ended.class);
        assertThat(Connection.gap(session.resume(beyond)).read())
                .singleElement(STRING)
                .contains("no longer kept");
        assertThat(TestBed.now(session.resume(other.cursor()))).isInstanceOf(Resume.Ended.class);
    }

    @Test
    void aForgottenCallHasItsEndForWhoKnowsAnEpochThatWasLost() {
        Connection post = begunCall();
        restart();
        Connection other = TestBed.resume(session, post);
        other.read();
        EventId end = other.cursor();
        assertThat(TestBed.now(session.resume(end))).isInstanceOf(Resume.Ended.class);
        Epoch lost = new Epoch(end.epoch().counter(), end.epoch().nonce() + 1);
        assertThat(Connection.gap(session.resume(new EventId(end.stream(), lost, end.offset() + 3)))
                        .read())
                .singleElement(STRING)
                .contains("no longer kept");
    }

    @Test
    void aTerminatedSessionStaysDeadThoughTheStoreIsSlow() {
        CompletableFuture<Void> go = new CompletableFuture<>();
        bed.store.deleting = Optional.of(go);
        CompletionStage<Void> terminated = session.terminate();
        assertThat(terminated.toCompletableFuture()).isNotDone();
        assertThat(bed.find(id, "")).isEmpty();
        go.complete(null);
        assertThat(terminated.toCompletableFuture()).isCompleted();
        assertThat(bed.find(id, "")).isEmpty();
        bed.die();
        assertThat(bed.find(id, "")).isEmpty();
    }

    @Test
    void aTerminatedSessionStaysDeadThoughTheStoreFailsToDeleteIt() {
        bed.store.deleting = Optional.of(CompletableFuture.failedFuture(new IllegalStateException("full")));
        assertThat(session.terminate()).isCompletedExceptionally();
        assertThat(bed.find(id, "")).isEmpty();
        bed.store.deleting = Optional.empty();
        bed.pass(Duration.ofSeconds(1));
        bed.die();
        assertThat(bed.find(id, "")).isEmpty();
    }

    @Test
    void aSessionThatEndsWithItsConnectionHasEndedWithItsProcess() {
        session = bed.open(TestBed.LIFETIME.withGrace(Duration.ZERO));
        bed.die();
        assertThat(bed.find(session.id(), "")).isEmpty();
        assertThat(TestBed.now(bed.store.kept.claim(((LiveSession) session).key(), 7)))
                .isEmpty();
    }

    @Test
    void aStoreThatFailsMayBeAskedAgain() {
        bed.die();
        bed.store.decree(Fate.LOST);
        assertThat(bed.engine.find(id, ""))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(StoreUnavailableException.class);
        assertThat(bed.find(id, "")).isPresent();
    }

    @Test
    void aCallThatComesBeforeTheBackendWasAskedForWaitsForIt() {
        bed.die();
        bed.executing = false;
        session = bed.find(id, "").orElseThrow();
        Connection post = bed.post(session, 1);
        session.notify(Wire.notification("some"));
        assertThat(bed.backend.lives).hasSize(2);
        assertThat(backend().heard).containsExactly("tools/call 1", "some");
        bed.executing = true;
        backend().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }

    /** A harmless call runs, its process dies, and in the next one the executor takes nothing. */
    private Connection backWithHarmlessWhereNobodyWorks() {
        bed.backend.harmless = "tools/call";
        Connection running = bed.post(session, 1);
        bed.die();
        bed.rejecting = true;
        session = bed.find(id, "").orElseThrow();
        return running;
    }

    @Test
    void whereNobodyCanOpenTheBackendItIsOpenedSoon() {
        Connection post = backWithHarmlessWhereNobodyWorks();
        bed.pass(Duration.ofSeconds(5));
        assertThat(bed.backend.lives).hasSize(1);
        bed.rejecting = false;
        bed.pass(Duration.ofSeconds(4));
        assertThat(backend().heard).containsExactly("tools/call 1");
        backend().call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void whereNobodyCanRunItAgainTheCallEnds() {
        Connection running = backWithHarmlessWhereNobodyWorks();
        Connection post = bed.post(session, 2);
        assertThat(TestBed.resume(session, running).read()).containsExactly("error 1" + INTERRUPTED);
        backend().call(2).respond();
        assertThat(post.read()).containsExactly("result 2");
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void aProcessThatDiesBeforeItsBackendIsThereDoesNotCount() {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        bed.executing = false;
        for (int i = 0; i < 5; i++) {
            restart();
        }
        bed.executing = true;
        restart();
        assertThat(backend().heard).containsExactly("tools/call 1");
        backend().call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void whatExpiresWhileItIsReadDoesNotComeBackWithoutItsHistory() {
        backend().sink.send(Wire.notice("kept"));
        bed.die();
        CompletableFuture<Void> read = new CompletableFuture<>();
        bed.store.reading = Optional.of(read);
        CompletionStage<Finding> finding = bed.engine.find(id, "");
        bed.pass(Duration.ofDays(2));
        read.complete(null);
        assertThat(TestBed.now(finding)).isInstanceOf(Missing.class);
        assertThat(bed.backend.lives).hasSize(1);
    }

    @Test
    void nothingIsRunAgainWhereTheSessionEndsWithItsProcess() {
        bed.backend.harmless = "tools/call";
        session = bed.open(TestBed.LIFETIME.withGrace(Duration.ZERO));
        Connection post = bed.post(session, 1);
        CompletionStage<Void> drained = bed.engine.drain(Duration.ZERO);
        assertThat(post.read()).containsExactly("error 1 -32603: the server was shut down before this call had ended");
        post.handover();
        bed.pass(Duration.ofSeconds(12));
        TestBed.now(drained);
    }

    @Test
    void aNotificationForASessionThatWasPutAwayIsNotToldToStartOver() {
        CompletionStage<Void> drained = bed.engine.drain(Duration.ZERO);
        bed.pass(Duration.ofSeconds(12));
        TestBed.now(drained);
        assertThat(TestBed.now(session.notify(Wire.notification("late")))).contains(Refusal.DRAINING);
        restart();
    }

    @Test
    void aSessionThatIsRefusedARoomStaysParked() {
        try (TestBed small = TestBed.durable(NodeLimits.DEFAULT.withSessions(1))) {
            Session first = small.open();
            Connection listening = TestBed.listen(first);
            listening.broken();
            small.pass(TestBed.PARK_AFTER.plusSeconds(1));
            Session second = small.open();
            TestBed.listen(second);
            TestBed.now(small.engine.find(first.id(), ""));
            assertThat(small.engine.stats().parked()).isOne();
            small.pass(TestBed.GRACE);
            assertThat(small.news.heard).contains("closed: EXPIRED");
        }
    }

    @Test
    void whatWasUsedIsParkedForAnotherAndNotEvicted() {
        try (TestBed small = TestBed.durable(NodeLimits.DEFAULT.withSessions(1))) {
            Session first = small.open();
            assertThat(small.find(first.id(), "")).isPresent();
            Session second = small.open();
            assertThat(small.news.heard).endsWith("parked", "created");
            second.terminate();
            assertThat(small.find(first.id(), "")).isPresent();
        }
    }

    @Test
    void aSessionThatCannotBeReadEnds() {
        Session other = bed.open();
        other.notify(Wire.notification("nonsense", new JournalChange.Put("nonsense")));
        bed.die();
        assertThat(TestBed.now(bed.engine.find(other.id(), ""))).isInstanceOf(Missing.class);
        assertThat(bed.news.heard).endsWith("closed: RESTORE_FAILED");
        assertThat(bed.store.deleted).contains(((LiveSession) other).key());
        assertThat(bed.engine.size()).isZero();
        assertThat(bed.engine.stats().historyBytes()).isZero();
    }

    @Test
    void aSessionThatComesBackWhileItsServerDrainsGoesAtOnce() {
        bed.die();
        bed.store.hold();
        CompletionStage<Finding> finding = bed.engine.find(id, "");
        CompletionStage<Void> drained = bed.engine.drain(Duration.ZERO);
        bed.store.release();
        assertThat(TestBed.now(finding)).isEqualTo(new Unavailable(Refusal.DRAINING));
        bed.pass(Duration.ofSeconds(15));
        TestBed.now(drained);
        assertThat(bed.engine.size()).isZero();
        restart();
    }

    @Test
    void aBackendThatCannotBeReachedIsTriedAgainByTheNextRequest() {
        bed.die();
        bed.backend.slow = true;
        session = bed.find(id, "").orElseThrow();
        Connection post = bed.post(session, 1);
        // the one that was opened for nobody in particular, and the one for the call
        for (int i = 0; i < 2; i++) {
            TestBackend.Life away = backend();
            away.stayAway();
            away.closed++;
        }
        assertThat(post.read()).containsExactly("error 1 -32603: it is away");
        bed.backend.slow = false;
        Connection next = bed.post(session, 2);
        backend().call(2).respond();
        assertThat(next.read()).containsExactly("result 2");
    }

    @Test
    void aDrainDoesNotShortenTheLifeOfASessionThatIsIdle() {
        CompletionStage<Void> drained = bed.engine.drain(Duration.ZERO);
        bed.pass(Duration.ofSeconds(12));
        TestBed.now(drained);
        bed.die();
        bed.pass(TestBed.IDLE.minusSeconds(20));
        assertThat(bed.find(id, "")).isPresent();
    }

    @Test
    void aDrainLeavesTheSessionInTheStoreForTheNextProcess() {
        Connection post = bed.post(session, 1);
        Connection running = bed.post(session, 2);
        backend().call(1).respond();
        CompletionStage<Void> drained = bed.engine.drain(Duration.ofSeconds(1));
        bed.pass(Duration.ofSeconds(10));
        assertThat(running.read())
                .containsExactly("error 2 -32603: the server was shut down before this call had ended");
        bed.pass(Duration.ofSeconds(12));
        TestBed.now(drained);
        assertThat(bed.news.heard).endsWith("parked");
        assertThat(backend().closed).isOne();
        restart();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void whatMayBeRunAgainIsLeftToTheNextProcessByADrain() {
        bed.backend.harmless = "tools/call";
        Connection post = bed.post(session, 1);
        List<String> told = new ArrayList<>();
        backend().call(1).sink().onCancel(notification -> told.add("cancelled"));
        CompletionStage<Void> drained = bed.engine.drain(Duration.ofSeconds(1));
        bed.pass(Duration.ofSeconds(7));
        assertThat(post.read()).isEmpty();
        post.handover();
        bed.pass(Duration.ofSeconds(5));
        TestBed.now(drained);
        assertThat(told).as("it goes on").isEmpty();
        restart();
        backend().call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void callsWithOneIdEndEachOnItsOwnStream() {
        bed.backend.harmless = "tools/call";
        Connection first = bed.post(session, 1);
        backend().calls.get(0).sink().send(Wire.progress("first"));
        first.read();
        bed.backend.harmless = "";
        Connection second = bed.post(session, 1);
        backend().calls.get(1).sink().send(Wire.progress("second"));
        second.read();
        restart();
        assertThat(backend().calls).hasSize(1);
        backend().call(1).respond();
        assertThat(TestBed.resume(session, first).read()).containsExactly("result 1");
        assertThat(TestBed.resume(session, second).read()).containsExactly("error 1" + INTERRUPTED);
    }

    @Test
    void overHttpSseTheErrorComesByTheListeningStream() {
        session = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        Connection listening = TestBed.listen(session);
        List<InboundMessage> initialize = List.of(Wire.initialize());
        TestBed.accepted(session.call(initialize)).dispatch();
        TestBed.accepted(session.call(TestBed.requests(1, 2))).dispatch();
        backend().call(1).respond();
        assertThat(listening.read()).containsExactly("result 0", "result 1");
        bed.die();
        session = bed.find(session.id(), "").orElseThrow();
        assertThat(session.listensOnly()).isTrue();
        assertThat(TestBed.resume(session, listening).read()).containsExactly("error 2" + INTERRUPTED);
    }

    @Test
    void overHttpSseAnAnswerThatIsNoLongerKeptIsNotFollowedByAnError() {
        session = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        TestBed.accepted(session.call(List.of(Wire.initialize()))).dispatch();
        TestBed.accepted(session.call(TestBed.requests(1, 2))).dispatch();
        Connection listening = TestBed.listen(session);
        backend().call(1).respond();
        assertThat(listening.read()).containsExactly("result 0", "result 1");
        listening = TestBed.resume(session, listening);
        backend().sink.send(Wire.notice("with what is dropped"));
        bed.die();
        session = bed.find(session.id(), "").orElseThrow();
        assertThat(TestBed.resume(session, listening).read())
                .containsExactly("with what is dropped", "error 2" + INTERRUPTED);
    }

    @Test
    void aRestoreThatIsAskedForTwiceIsStillForNobody() {
        bed.backend.slow = true;
        restart();
        TestBackend.Life away = backend();
        ((LiveSession) session).catchUp().openBackend();
        Connection post = bed.post(session, 1);
        away.stayAway();
        away.closed++;
        assertThat(backend()).isNotSameAs(away);
        backend().accept();
        backend().call(1).respond();
        assertThat(post.read()).containsExactly("result 1");
    }
}
