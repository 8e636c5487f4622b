package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Sessions as HTTP+SSE has them: initialized by a call, with every answer on the listening stream. */
class HttpSseSessionTest {
    private static final Lifetime ENDS_WITH_ITS_CONNECTION = TestBed.LIFETIME.withGrace(Duration.ZERO);

    @AutoClose
    private final TestBed bed = new TestBed();

    private LiveSession await(Lifetime lifetime) {
        return (LiveSession) ((Opening.Awaiting) TestBed.now(bed.engine.open("", lifetime))).session();
    }

    private LiveSession initialized(Lifetime lifetime) {
        LiveSession session = await(lifetime);
        send(session, Wire.initialize());
        return session;
    }

    private static void send(Session session, InboundMessage request) {
        TestBed.accepted(session.call(List.of(request))).dispatch();
    }

    private void respond(int id) {
        bed.backend.life().call(id).respond();
    }

    /** Tells that what was read has been written, and something else 100 ms later. */
    private void confirm(Connection connection) {
        connection.reader.wrote(bed.time.getAsLong(), bed.time.getAsLong());
        bed.pass(Duration.ofMillis(100));
        connection.reader.wrote(bed.time.getAsLong(), bed.time.getAsLong());
    }

    @Test
    void everyAnswerGoesToTheListeningStream() {
        Session session = await(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);
        assertThat(session.revision()).isEmpty();

        send(session, Wire.initialize());
        send(session, Wire.request(1));
        send(session, Wire.request(2));
        respond(2);
        respond(1);

        assertThat(connection.read()).containsExactly("result 0", "result 2", "result 1");
        assertThat(session.revision()).isEqualTo(TestBackend.REVISION);
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(connection.end).isEmpty();
    }

    @Test
    void theFirstBackendRestoresNothingThoughTheSessionHasItsId() {
        initialized(TestBed.LIFETIME);

        assertThat(bed.backend.life().sink.sessionId()).isNotEmpty();
        assertThat(bed.backend.life().request.restores()).isFalse();
    }

    @Test
    void aCallHasNoReaderOfItsOwn() {
        Session session = initialized(TestBed.LIFETIME);

        assertThat(TestBed.accepted(session.call(TestBed.requests(1))).reader()).isEmpty();
    }

    @Test
    void aRequestBeforeInitializeIsAnsweredWithAnError() {
        Session session = await(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);

        send(session, Wire.request(1));

        assertThat(connection.read()).containsExactly("error 1 -32603: the session is not initialized yet");
        assertThat(bed.backend.lives).isEmpty();
    }

    @Test
    void aClientThatListensAndNeverInitializesIsSentAway() {
        Session session = await(TestBed.LIFETIME.withInitialization(Duration.ofSeconds(10)));
        Connection connection = TestBed.listen(session);

        bed.pass(Duration.ofSeconds(11));
        connection.read();

        assertThat(connection.reason()).isEqualTo(EndReason.EXPIRED);
        assertThat(bed.engine.size()).isZero();
    }

    @Test
    void aClientWhoseInitializeTakesLongIsNotSentAway() {
        bed.backend.slow = true;
        Session session = initialized(TestBed.LIFETIME.withInitialization(Duration.ofSeconds(10)));
        Connection connection = TestBed.listen(session);

        bed.pass(Duration.ofSeconds(11));
        bed.backend.life().accept();
        bed.pass(Duration.ofSeconds(11));

        assertThat(connection.read()).containsExactly("result 0");
        assertThat(connection.end).isEmpty();
    }

    @Test
    void aSecondInitializeIsAnsweredWithAnError() {
        Session session = initialized(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);

        send(session, Wire.initialize());

        assertThat(connection.read()).containsExactly("result 0", "error 0 -32603: the session is initialized already");
        assertThat(bed.backend.lives).hasSize(1);
    }

    @Test
    void aClientThatWasRefusedMayTryAgain() {
        bed.backend.slow = true;
        Session session = await(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);
        send(session, Wire.initialize());
        send(session, Wire.request(1));
        bed.backend.life().refuse();

        send(session, Wire.initialize());
        bed.backend.life().accept();
        send(session, Wire.request(2));
        respond(2);

        assertThat(connection.read())
                .containsExactly(
                        "error 1 -32603: the session is not initialized yet", "refused 0", "result 0", "result 2");
    }

    @Test
    void aClientWhoseBackendIsAwayHearsWhyAndMayTryAgain() {
        bed.backend.slow = true;
        Session session = initialized(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);
        bed.backend.life().stayAway();

        send(session, Wire.initialize());
        bed.backend.life().accept();

        assertThat(connection.read()).containsExactly("refused 0", "result 0");
    }

    @Test
    void aBackendThatHasRefusedIsNotHeardAnyMore() {
        bed.backend.slow = true;
        Session session = initialized(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);
        bed.backend.life().refuse();

        bed.backend.life().sink.send(Wire.notice("late"));

        assertThat(connection.read()).containsExactly("refused 0");
    }

    @Test
    void whatComesWhileTheBackendIsOpenedWaits() {
        bed.backend.slow = true;
        Session session = initialized(TestBed.LIFETIME);
        send(session, Wire.request(1));
        session.notify(Wire.notification("notifications/initialized"));
        assertThat(bed.backend.life().heard).isEmpty();

        bed.backend.life().accept();

        assertThat(bed.backend.life().heard).containsExactly("tools/call 1", "notifications/initialized");
    }

    @Test
    void pythonSdk2200_withItsConnectionGoesTheSessionItsCallsAndItsBackend() {
        Session session = initialized(ENDS_WITH_ITS_CONNECTION);
        Connection connection = TestBed.listen(session);
        send(session, Wire.request(1));

        connection.broken();

        assertThat(bed.find(session.id(), "")).isEmpty();
        assertThat(bed.engine.stats().runningCalls()).isZero();
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.news.heard).containsExactly("created", "closed: DISCONNECTED");
        assertThat(TestBed.now(session.call(TestBed.requests(2)))).isInstanceOf(Call.Closed.class);
    }

    @Test
    void aClientThatCannotComeBackIsNotSentAway() {
        Session session = initialized(ENDS_WITH_ITS_CONNECTION);
        Connection connection = TestBed.listen(session);
        send(session, Wire.request(1));

        bed.backend.life().call(1).sink().disconnect(Duration.ofSeconds(1));
        connection.read();

        assertThat(connection.end).isEmpty();
    }

    @Test
    void aBackendThatIsBeingOpenedIsToldThatItsClientHasLeft() {
        bed.backend.slow = true;
        Session session = initialized(ENDS_WITH_ITS_CONNECTION);
        Connection connection = TestBed.listen(session);
        assertThat(bed.backend.life().abandoned).isZero();

        connection.broken();

        assertThat(bed.backend.life().abandoned).isOne();
        bed.backend.life().stayAway();
        assertThat(bed.news.heard).containsExactly("created", "closed: DISCONNECTED");
        assertThat(bed.engine.stats().refused()).doesNotContainEntry(Refusal.BACKEND_OPENING, 1L);
    }

    @Test
    void aBackendThatIsOpenIsNotAbandoned() {
        Session session = initialized(ENDS_WITH_ITS_CONNECTION);
        TestBed.listen(session).broken();

        assertThat(bed.backend.life().abandoned).isZero();
        assertThat(bed.backend.life().closed).isOne();
    }

    @Test
    void aBackendThatOpensTooLateIsClosed() {
        bed.backend.slow = true;
        Session session = initialized(ENDS_WITH_ITS_CONNECTION);
        TestBed.listen(session).broken();

        bed.backend.life().accept();

        assertThat(bed.backend.life().closed).isOne();
    }

    @Test
    void aClientThatComesBackGetsWhatItMissedOnce() {
        Session session = initialized(TestBed.LIFETIME);
        Connection first = TestBed.listen(session);
        first.read();
        first.broken();
        send(session, Wire.request(1));
        respond(1);
        bed.backend.life().sink.send(Wire.notice("a"));

        Connection second = TestBed.resume(session, first);

        assertThat(second.read()).containsExactly("result 1", "a");
    }

    @Test
    void aQuestionOfACallThatIsOverIsNotAskedAgainButItsAnswerIsTaken() {
        LiveSession session = initialized(TestBed.LIFETIME);
        Connection first = TestBed.listen(session);
        send(session, Wire.request(1));
        bed.backend.life().call(1).sink().send(Wire.question("q"));
        respond(1);
        first.read();
        first.inOrder();

        Connection second = TestBed.listen(session);
        assertThat(second.read()).isEmpty();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("q"))))).isTrue();
    }

    @Test
    void questionsOfCallsThatAreOverDoNotEndTheSession() {
        LiveSession session = initialized(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);

        for (int id = 1; id <= 2 * SessionLimits.DEFAULT.sessionEvents(); id++) {
            send(session, Wire.request(id));
            bed.backend.life().call(id).sink().send(Wire.question("q" + id));
            respond(id);
            connection.read();
            confirm(connection);
        }

        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        assertThat(session.streams().events()).isLessThanOrEqualTo(SessionLimits.DEFAULT.streamEvents());
    }

    @Test
    void whatIsConfirmedIsNotKeptForAClientThatCannotComeBack() {
        LiveSession session = initialized(ENDS_WITH_ITS_CONNECTION);
        Connection connection = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.notice("a"));
        bed.backend.life().sink.send(Wire.question("q"));
        connection.read();
        assertThat(session.streams().events()).isEqualTo(3);

        confirm(connection);

        assertThat(session.streams().events()).as("the question").isOne();
    }

    @Test
    void theAnswerToAPingIsTakenThoughThePingIsConfirmed() {
        LiveSession session = initialized(ENDS_WITH_ITS_CONNECTION);
        Connection connection = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.ping("p"));
        connection.read();
        confirm(connection);

        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("p"))))).isTrue();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("p"))))).isFalse();
        assertThat(bed.backend.life().heard).contains("answer p");

        bed.backend.life().sink.send(Wire.notice("a"));
        connection.read();
        confirm(connection);
        assertThat(session.streams().events()).as("nothing of it stays").isZero();
    }

    @Test
    void anAnswerIsHeldUntilItIsConfirmed() {
        int limit = 16;
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, limit, 1 << 20, 100, 256, 64))) {
            LiveSession session =
                    (LiveSession) ((Opening.Awaiting) TestBed.now(small.engine.open("", TestBed.LIFETIME))).session();
            send(session, Wire.initialize());
            for (int i = 0; i < limit; i++) {
                small.backend.life().sink.send(Wire.question("q" + i));
            }
            Connection connection = TestBed.listen(session);
            assertThat(connection.read()).hasSize(limit + 1).startsWith("result 0");

            connection.handover();

            assertThat(session.streams().events()).as("all but the answer").isEqualTo(limit);
        }
    }

    @Test
    void aDeadBackendIsRestoredWithTheInitializeOfTheCall() {
        Session session = initialized(TestBed.LIFETIME);
        bed.backend.life().sink.lost("it died");

        send(session, Wire.request(1));

        assertThat(bed.backend.lives).hasSize(2);
        assertThat(bed.backend.life().request.initialize().requiredId()).isEqualTo(Wire.id(0));
        assertThat(bed.backend.life().heard).containsExactly("tools/call 1");
    }

    @Test
    void aCancelledCallLeavesTheStreamOpen() {
        Session session = initialized(TestBed.LIFETIME);
        Connection connection = TestBed.listen(session);
        send(session, Wire.request(1));
        session.cancel(new RequestId("1"), Wire.cancelled(1));
        respond(1);
        send(session, Wire.request(2));
        respond(2);

        assertThat(connection.read()).containsExactly("result 0", "result 2");
        assertThat(connection.end).isEmpty();
    }

    @Test
    void theStoreLearnsWhatWasNegotiated() {
        LiveSession session = initialized(TestBed.LIFETIME);

        var record =
                TestBed.now(bed.store.claim(session.key(), 9)).orElseThrow().record();

        assertThat(record.revision()).isEqualTo(TestBackend.REVISION);
        assertThat(record.journal()).containsOnlyKeys("initialize");
        assertThat(record.running()).isEmpty();
    }
}
