package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.NodeLimits;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.log.Streams;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Every cap, in bytes and in count, per stream and per session. */
class LimitsTest {
    private static final String KILOBYTE = "x".repeat(1024);
    private static final long MUCH = 1 << 20;

    private static Streams streams(Session session) {
        return ((LiveSession) session).streams();
    }

    private static void notices(TestBed bed, int count, String text) {
        for (int i = 0; i < count; i++) {
            bed.backend.life().sink.send(Wire.notice(text));
        }
    }

    @Test
    void aStreamKeepsSoManyEvents() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 16, MUCH, 1000, 256, 64))) {
            Session session = bed.open();
            notices(bed, 40, "n");
            assertThat(streams(session).listening().events()).isEqualTo(16);
            assertThat(streams(session).events()).isEqualTo(16);
        }
    }

    @Test
    void aStreamKeepsSoManyBytes() {
        try (TestBed bed = new TestBed(new SessionLimits(10_000, 1000, MUCH, 1000, 256, 64))) {
            Session session = bed.open();
            notices(bed, 40, KILOBYTE);
            assertThat(streams(session).listening().bytes()).isBetween(8_000L, 10_000L);
            assertThat(streams(session).bytes())
                    .isEqualTo(streams(session).listening().bytes());
        }
    }

    @Test
    void theNewestEventOfAStreamIsKeptThoughItAloneIsTooMuch() {
        try (TestBed bed = new TestBed(new SessionLimits(1024, 1000, MUCH, 1000, 256, 64))) {
            Session session = bed.open();
            Connection listening = TestBed.listen(session);
            bed.backend.life().sink.send(Wire.notice("n"));
            bed.backend.life().sink.send(Wire.notice(KILOBYTE));
            assertThat(listening.read()).containsExactly(KILOBYTE);
        }
    }

    @Test
    void aSessionKeepsSoManyEventsOverAllStreams() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, MUCH, 16, 256, 64))) {
            Session session = bed.open();
            bed.post(session, 1);
            for (int i = 0; i < 40; i++) {
                bed.backend.life().sink.send(Wire.notice("n"));
                bed.backend.life().call(1).sink().send(Wire.progress("p"));
            }
            assertThat(streams(session).events()).isEqualTo(16);
        }
    }

    @Test
    void aSessionKeepsSoManyBytesOverAllStreams() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, 10_000, 1000, 256, 64))) {
            Session session = bed.open();
            bed.post(session, 1);
            for (int i = 0; i < 20; i++) {
                bed.backend.life().sink.send(Wire.notice(KILOBYTE));
                bed.backend.life().call(1).sink().send(Wire.notice(KILOBYTE));
            }
            assertThat(streams(session).bytes()).isBetween(8_000L, 10_000L);
        }
    }

    /** Large answers that their clients have would cost memory, and the collector time. */
    @Test
    void deliveredAnswersHaveAnEighthOfWhatASessionMayKeepAndTheNewestIsKeptWhateverItsSize() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, 80_000, 1000, 256, 64))) {
            Session session = bed.open();
            for (int id = 1; id <= 30; id++) {
                delivered(bed, session, id, KILOBYTE);
            }
            assertThat(streams(session).bytes()).isBetween(8_000L, 10_000L);
            EventId start = delivered(bed, session, 31, KILOBYTE.repeat(20));
            assertThat(streams(session).bytes()).isBetween(20_000L, 21_000L);
            assertThat(Connection.resumed(session.resume(start)).read()).hasSize(1);
        }
    }

    private static EventId delivered(TestBed bed, Session session, int id, String answer) {
        Connection post = bed.post(session, id);
        EventId start = post.cursor();
        bed.backend.life().call(id).sink().send(Wire.out(EventKind.RESPONSE, Wire.id(id), answer));
        post.reason();
        post.inOrder();
        return start;
    }

    @Test
    void aNoisySessionShortensItsOwnHistoryOnly() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 16, MUCH, 16, 256, 64))) {
            Session quiet = bed.open();
            bed.backend.life().sink.send(Wire.notice("for the quiet one"));
            bed.open();
            notices(bed, 100, "noise");
            assertThat(TestBed.listen(quiet).read()).containsExactly("for the quiet one");
        }
    }

    @Test
    void whatCannotBeDroppedEndsTheSession() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, 4096, 1000, 256, 64))) {
            Session session = bed.open();
            Connection listening = TestBed.listen(session);
            for (int i = 0; i < 3; i++) {
                bed.backend.life().sink.send(Wire.question("q" + i));
            }
            bed.backend.life().sink.send(Wire.out((byte) 3, new RequestId("big"), KILOBYTE.repeat(4)));
            assertThat(session.state()).isEqualTo(SessionState.CLOSED);
            assertThat(listening.read()).contains("question q0", "question q1", "question q2");
            assertThat(listening.reason()).isEqualTo(EndReason.OVERFLOW);
            assertThat(bed.news.heard).containsExactly("created", "closed: OVERFLOW");
            assertThat(bed.engine.size()).isZero();
        }
    }

    @Test
    void anAnswerThatAloneIsTooLargeEndsItsCallAndNotTheSession() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, 65_536, 1000, 256, 64))) {
            Session session = bed.open();
            Connection first = bed.post(session, 1);
            respond(bed, 1, 65_536 - 100);
            assertThat(first.read()).hasSize(1).first().asString().contains("65436 bytes", "at most 64512 bytes");
            first.reason();
            first.inOrder();
            Connection second = bed.post(session, 2);
            respond(bed, 2, 64_000);
            assertThat(second.read()).hasSize(1).first().asString().hasSize(64_000);
            assertThat(session.state()).isNotEqualTo(SessionState.CLOSED);
        }
    }

    @Test
    void anAnswerThatFindsNoRoomBesideWhatIsNotDeliveredEndsItsCallAndNotTheSession() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, 65_536, 1000, 256, 64))) {
            Session session = bed.open();
            Connection unread = bed.post(session, 1);
            Connection refused = bed.post(session, 2);
            Connection small = bed.post(session, 3);
            notices(bed, 10, KILOBYTE);
            respond(bed, 1, 60_000);
            respond(bed, 2, 10_000);
            bed.backend.life().call(3).respond();
            assertThat(refused.read()).hasSize(1).first().asString().contains("10000 bytes and finds no room");
            assertThat(small.read()).containsExactly("result 3");
            assertThat(unread.read()).hasSize(1).first().asString().hasSize(60_000);
            unread.reason();
            unread.inOrder();
            Connection later = bed.post(session, 4);
            respond(bed, 4, 10_000);
            assertThat(later.read()).hasSize(1).first().asString().hasSize(10_000);
        }
    }

    @Test
    void whatMayBeDroppedTakesNoRoomOfAnAnswerWhileItIsOnItsWayToTheStore() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, 65_536, 1000, 256, 64))) {
            Session session = bed.open();
            Connection call = bed.post(session, 1);
            bed.store.hold();
            notices(bed, 60, "x".repeat(900));
            respond(bed, 1, 10_000);
            bed.store.release();
            assertThat(call.read()).hasSize(1).first().asString().hasSize(10_000);
        }
    }

    private static void respond(TestBed bed, int id, int bytes) {
        bed.backend.life().call(id).sink().send(Wire.out(EventKind.RESPONSE, Wire.id(id), "x".repeat(bytes)));
    }

    /** What its connection has not written is counted for no session any more. */
    @Test
    void anAnswerThatIsOnItsWayIsHurriedWhenItsSessionEnds() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, 4096, 1000, 256, 64))) {
            Session session = bed.open();
            Connection answer = bed.post(session, 1);
            bed.backend.life().call(1).respond();
            bed.backend.life().sink.send(Wire.question("before"));
            assertThat(answer.hurried).isFalse();
            bed.backend.life().sink.send(Wire.out((byte) 3, new RequestId("big"), KILOBYTE.repeat(4)));
            assertThat(session.state()).isEqualTo(SessionState.CLOSED);
            assertThat(answer.hurried).isTrue();
            assertThat(answer.read()).containsExactly("result 1");
        }
    }

    @Test
    void aBurstOnItsWayToASlowStoreDropsOnlyWhatHasToGo() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, MUCH, 16, 256, 64))) {
            Session session = bed.open();
            bed.store.hold();
            for (int i = 0; i < 12; i++) {
                bed.backend.life().sink.send(Wire.progress("p" + i));
            }
            bed.store.release();
            bed.store.hold();
            for (int i = 12; i < 20; i++) {
                bed.backend.life().sink.send(Wire.progress("p" + i));
            }
            bed.store.release();
            assertThat(session.state()).isEqualTo(SessionState.IDLE);
            assertThat(streams(session).events()).isEqualTo(16);
        }
    }

    @Test
    void aBackendThatDoesNotWaitForItsStoreEndsTheSession() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, MUCH, 16, 256, 64))) {
            Session session = bed.open();
            bed.store.hold();
            notices(bed, 16, "n");
            assertThat(session.state()).isEqualTo(SessionState.IDLE);
            notices(bed, 1, "n");
            assertThat(session.state()).isEqualTo(SessionState.CLOSED);
            bed.store.release();
            assertThat(bed.news.heard).endsWith("closed: OVERFLOW");
        }
    }

    @Test
    void onlySoManyCallsRun() {
        try (TestBed bed = new TestBed(new SessionLimits(MUCH, 1000, MUCH, 1000, 256, 3))) {
            Session session = bed.open();
            bed.post(session, 1, 2);
            assertThat(TestBed.now(session.call(TestBed.requests(3, 4))))
                    .isEqualTo(new Call.Refused(Refusal.SESSION_CALLS));
            bed.post(session, 3);
            assertThat(TestBed.now(session.call(TestBed.requests(4))))
                    .isEqualTo(new Call.Refused(Refusal.SESSION_CALLS));
            bed.backend.life().call(1).respond();
            bed.post(session, 4);
        }
    }

    @Test
    void limitsOutOfRangeAreRefused() {
        assertThatThrownBy(() -> new SessionLimits(MUCH, 15, MUCH, 1000, 256, 3))
                .hasMessage("streamEvents must be 16 to 1000000, got 15");
        assertThatThrownBy(() -> new SessionLimits(MUCH, 16, 5L << 30, 1000, 256, 3))
                .hasMessageStartingWith("sessionBytes must be 1024 to 4294967296");
        assertThatThrownBy(() -> TestBed.LIFETIME.withGrace(Duration.ofNanos(-1)))
                .hasMessageStartingWith("grace must not be negative");
        assertThatThrownBy(() -> TestBed.LIFETIME.withCall(Duration.ZERO))
                .hasMessage("call must be at least 1 ms, got PT0S");
        assertThatThrownBy(() -> NodeLimits.DEFAULT.withSessions(0))
                .hasMessage("sessions must be 1 to 10000000, got 0");
        assertThatThrownBy(() -> NodeLimits.DEFAULT.withHistory(1023, 16))
                .hasMessage("historyBytes must be at least 1024, got 1023");
    }

    @Test
    void theJournalIsBounded() {
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 20, 16, 10, 10))) {
            Session session = small.open();
            for (int i = 1; i <= 16; i++) {
                TestBed.accepted(session.call(List.of(subscribe(i, "resource " + i))))
                        .dispatch();
                small.backend.life().call(i).respond();
            }
            assertThat(TestBed.now(session.call(List.of(subscribe(17, "resource 17")))))
                    .isEqualTo(new Call.Refused(Refusal.JOURNAL));
            assertThat(TestBed.now(session.call(List.of(subscribe(18, "resource 1")))))
                    .isInstanceOf(Call.Accepted.class);
            assertThat(TestBed.now(session.call(TestBed.requests(19)))).isInstanceOf(Call.Accepted.class);
        }
    }

    @Test
    void theJournalIsBoundedForThoseWhoComeAtOnce() {
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 10, 100, 10, 10))) {
            Session session = small.open();
            Call first = TestBed.accepted(session.call(List.of(subscribe(1, "a".repeat(500)))));
            assertThat(TestBed.now(session.call(List.of(subscribe(2, "b".repeat(500))))))
                    .as("the first has no answer yet")
                    .isEqualTo(new Call.Refused(Refusal.JOURNAL));
            assertThat(TestBed.now(session.notify(Wire.notification("b", new JournalChange.Put("b".repeat(500))))))
                    .contains(Refusal.JOURNAL);
            first.dispatch();
            small.backend.life().call(1).sink().send(Wire.refusal(Wire.id(1)));
            assertThat(TestBed.now(session.call(List.of(subscribe(3, "b".repeat(500))))))
                    .as("nothing came of the first")
                    .isInstanceOf(Call.Accepted.class);
        }
    }

    @Test
    void theJournalIsBoundedInBytes() {
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 10, 100, 10, 10))) {
            Session session = small.open();
            assertThat(TestBed.now(session.call(List.of(subscribe(1, "r".repeat(2000))))))
                    .isEqualTo(new Call.Refused(Refusal.JOURNAL));
        }
    }

    private static InboundMessage subscribe(int id, String subject) {
        return Wire.request(Wire.id(id), "resources/subscribe", new JournalChange.Put(subject));
    }
}
