package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The listening stream: live, replayed, taken over, and attached to without a {@code Last-Event-ID}. */
class ListeningTest {
    private static final int MOST_PINGS = 128;

    @AutoClose
    private final TestBed bed = new TestBed();

    private Session session = bed.open();

    @BeforeEach
    void open() {
        session = bed.open();
    }

    private void notice(String... texts) {
        for (String text : texts) {
            bed.backend.life().sink.send(Wire.notice(text));
        }
    }

    @Test
    void whatIsSentWhileAClientListensWakesItsConnection() {
        Connection connection = TestBed.listen(session);
        assertThat(connection.read()).isEmpty();
        notice("a");
        assertThat(connection.woken).isOne();
        assertThat(connection.read()).containsExactly("a");
    }

    @Test
    void javaSdk920_whatIsSentWhileNobodyListensWaits() {
        Connection first = TestBed.listen(session);
        first.broken();
        notice("a", "b");
        assertThat(bed.find(session.id(), "")).isPresent();
        assertThat(TestBed.listen(session).read()).containsExactly("a", "b");
    }

    @Test
    void javaSdk920_aClientWithItsCursorGetsNothingTwice() {
        Connection first = TestBed.listen(session);
        notice("a", "b");
        first.read();
        first.broken();
        notice("c");
        assertThat(TestBed.resume(session, first).read()).containsExactly("c");
    }

    @Test
    void aClientThatGotNothingResumesFromTheStart() {
        Connection first = TestBed.listen(session);
        first.broken();
        notice("a");
        assertThat(TestBed.resume(session, first).read()).containsExactly("a");
    }

    @Test
    void aClientThatHasListenedIsExpectedForTheGracePeriod() {
        assertThat(bed.backend.life().sink.followed()).isFalse();
        Connection first = TestBed.listen(session);
        bed.pass(TestBed.GRACE);
        assertThat(bed.backend.life().sink.followed()).isTrue();
        Connection post = bed.post(session, 1);
        first.broken();
        bed.pass(TestBed.GRACE.minusNanos(1));
        assertThat(bed.backend.life().sink.followed()).isTrue();
        bed.pass(Duration.ofNanos(1));
        assertThat(bed.backend.life().sink.followed()).isFalse();
        post.broken();
    }

    @Test
    void theNewerConnectionWinsAtOnce() {
        Connection older = TestBed.listen(session);
        notice("a");
        Connection newer = TestBed.listen(session);
        assertThat(older.aborted).isTrue();
        assertThat(older.reason()).isEqualTo(EndReason.SUPERSEDED);
        assertThat(older.received).isEmpty();
        assertThat(newer.read()).containsExactly("a");
    }

    @Test
    void aConnectionThatIsAskedToEndIsTakenOverNonetheless() {
        Connection older = bed.post(session, 1);
        bed.backend.life().call(1).sink().send(Wire.progress("p"));
        bed.backend.life().call(1).sink().disconnect(Duration.ofSeconds(1));
        Connection newer = TestBed.resume(session, older);
        assertThat(older.aborted).isTrue();
        assertThat(older.read()).isEmpty();
        assertThat(older.reason()).isEqualTo(EndReason.SUPERSEDED);
        assertThat(newer.read()).containsExactly("p");
    }

    @Test
    void aLateCloseOfTheOlderConnectionChangesNothing() {
        Connection older = TestBed.listen(session);
        Connection newer = TestBed.listen(session);
        older.broken();
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
        notice("a");
        assertThat(newer.woken).isOne();
        assertThat(newer.read()).containsExactly("a");
        assertThat(bed.news.heard).doesNotContain("detached, waiting 30 s");
    }

    @Test
    void theOlderConnectionConfirmsNothingAnyMore() {
        Connection older = TestBed.listen(session);
        notice("a");
        older.read();
        TestBed.listen(session);
        long now = bed.time.getAsLong();
        older.reader.wrote(now, now);
        older.reader.wrote(
                now + Duration.ofSeconds(1).toNanos(),
                now + Duration.ofSeconds(1).toNanos());
        assertThat(TestBed.listen(session).read()).containsExactly("a");
    }

    @Test
    void closingTwiceCountsOnce() {
        Connection listening = TestBed.listen(session);
        bed.post(session, 1);
        listening.broken();
        listening.broken();
        assertThat(session.state()).isEqualTo(SessionState.ATTACHED);
    }

    @Test
    void aResumedConnectionRepeatsItsCursor() {
        Connection first = TestBed.listen(session);
        notice("a");
        first.read();
        first.broken();
        assertThat(TestBed.resume(session, first).reader.position()).isEqualTo(first.lastEventId);
    }

    @Test
    void aReadStopsBeforeTheMessageThatWouldBeTooMuch() {
        Connection connection = TestBed.listen(session);
        notice("12345", "67890", "abcde");
        assertThat(connection.readOnce(10)).isTrue();
        assertThat(connection.received).containsExactly("12345", "67890");
        assertThat(connection.readOnce(1)).isTrue();
        assertThat(connection.received).containsExactly("12345", "67890", "abcde");
    }

    @Test
    void anUnansweredQuestionIsRepeatedWithItsIdThoughItWasConfirmed() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.question("q1"));
        notice("a");
        first.read();
        first.handover();
        Connection second = TestBed.listen(session);
        assertThat(second.read()).containsExactly("question q1");
        assertThat(second.lastEventId).isEqualTo(first.lastEventId);
    }

    @Test
    void anAnsweredQuestionIsNotRepeated() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.question("q1"));
        first.read();
        first.handover();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("q1")))))
                .isTrue();
        assertThat(TestBed.listen(session).read()).isEmpty();
        assertThat(bed.backend.life().heard).containsExactly("answer q1");
    }

    @Test
    void anAnsweredQuestionIsNotRepeatedThoughItWasNotConfirmed() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.question("q1"));
        notice("a");
        first.read();
        first.broken();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("q1")))))
                .isTrue();
        assertThat(TestBed.listen(session).read()).containsExactly("a");
    }

    @Test
    void withItsCursorAClientGetsNoQuestionTwice() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.question("q1"));
        first.read();
        first.broken();
        assertThat(TestBed.resume(session, first).read()).isEmpty();
    }

    @Test
    void anAnswerIsTakenOnce() {
        bed.backend.life().sink.send(Wire.question("q1"));
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("q1")))))
                .isTrue();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("q1")))))
                .isFalse();
        assertThat(TestBed.now(session.answer(Wire.answer(Wire.id(7))))).isFalse();
        assertThat(bed.backend.life().heard).containsExactly("answer q1");
    }

    @Test
    void aPingWaitsForItsClientAndIsNotRepeatedToOneThatHasIt() {
        bed.backend.life().sink.send(Wire.ping("p1"));
        Connection first = TestBed.listen(session);
        assertThat(first.read()).containsExactly("ping p1");
        bed.backend.life().sink.send(Wire.ping("p2"));
        first.broken();
        Connection second = TestBed.resume(session, first);
        assertThat(second.read()).containsExactly("ping p2");
        second.handover();
        assertThat(TestBed.listen(session).read()).isEmpty();
    }

    @Test
    void aPingThatIsAnsweredReachesNobodyElse() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.ping("p"));
        notice("a");
        first.read();
        first.broken();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("p"))))).isTrue();
        assertThat(TestBed.listen(session).read()).containsExactly("a");
    }

    @Test
    void ofManyPingsThatWaitTheOldestAreGivenUp() {
        bed.backend.life().sink.send(Wire.question("q"));
        for (int ping = 0; ping < MOST_PINGS + 2; ping++) {
            bed.backend.life().sink.send(Wire.ping("p" + ping));
        }

        List<String> read = TestBed.listen(session).read();

        assertThat(read).hasSize(MOST_PINGS + 1).startsWith("question q", "ping p2");
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("p1")))))
                .isFalse();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("p2")))))
                .isTrue();
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("q"))))).isTrue();
    }

    @Test
    void theAnswerToAPingIsTakenThoughItsConnectionIsGone() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.ping("p"));
        first.read();
        first.broken();
        assertThat(TestBed.resume(session, first).read()).isEmpty();

        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("p"))))).isTrue();
        assertThat(bed.backend.life().heard).containsExactly("answer p");
    }

    @Test
    void whatOneSessionSendsNoOtherReads() {
        TestBackend.Life life = bed.backend.life();
        Session other = bed.open();
        Connection mine = TestBed.listen(session);
        Connection theirs = TestBed.listen(other);
        life.sink.send(Wire.notice("a"));
        assertThat(mine.read()).containsExactly("a");
        assertThat(theirs.read()).isEmpty();
        assertThat(TestBed.now(other.resume(mine.cursor()))).isNotInstanceOf(Resume.Resumed.class);
    }
}
