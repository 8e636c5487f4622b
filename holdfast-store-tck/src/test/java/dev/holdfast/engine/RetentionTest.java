package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** How long a delivered response is kept, and what answers a client that comes even later. */
class RetentionTest {
    private static final String GONE =
            "error 1 -32603: the response to this request is no longer kept: it was dropped before the client came back";

    @AutoClose
    private final TestBed bed = new TestBed();

    private final Session session = bed.open();

    private void respond(int id) {
        bed.backend.life().call(id).respond();
    }

    /** A call whose connection was ended in order, though the client saw nothing of it; what it would resume from. */
    private EventId delivered(int id) {
        Connection post = bed.post(session, id);
        EventId start = post.cursor();
        respond(id);
        post.reason();
        post.inOrder();
        return start;
    }

    private int events() {
        return ((LiveSession) session).streams().events();
    }

    @Test
    void aDeliveredResponseIsKeptForTheRetention() {
        EventId start = delivered(1);
        bed.pass(Duration.ofSeconds(59));
        assertThat(Connection.resumed(session.resume(start)).read()).containsExactly("result 1");
    }

    @Test
    void afterTheRetentionAClientGetsAnErrorOnceAndThenTheEnd() {
        EventId start = delivered(1);
        TestBed.listen(session);
        bed.pass(Duration.ofSeconds(61));
        assertThat(events()).isZero();
        Connection late = Connection.gap(session.resume(start));
        assertThat(late.read()).containsExactly(GONE);
        assertThat(late.reason()).isEqualTo(EndReason.COMPLETED);
        late.inOrder();
        assertThat(TestBed.now(session.resume(late.cursor()))).isInstanceOf(Resume.Ended.class);
        assertThat(bed.news.heard).contains("gap on 1.1");
    }

    @Test
    void aResponseThatWasNotDeliveredIsKeptForTheSessionsLife() {
        Connection post = bed.post(session, 1);
        respond(1);
        post.read();
        post.broken();
        TestBed.listen(session);
        bed.pass(Duration.ofDays(2));
        assertThat(Connection.resumed(session.resume(new EventId(
                                post.cursor().stream(), post.cursor().epoch(), 0)))
                        .read())
                .containsExactly("result 1");
    }

    @Test
    void whoResumesAtTheEndReleasesTheStream() {
        Connection post = bed.post(session, 1);
        respond(1);
        post.read();
        post.broken();
        assertThat(events()).isOne();
        session.resume(post.cursor());
        assertThat(events()).isZero();
    }

    @Test
    void aCursorReleasesWhatLiesBeforeItButNoResponseAndNoOpenQuestion() {
        Connection post = bed.post(session, 1, 2);
        bed.backend.life().call(1).sink().send(Wire.progress("p"));
        bed.backend.life().call(1).sink().send(Wire.question("q"));
        bed.backend.life().call(1).sink().send(Wire.notice("n"));
        respond(1);
        post.read();
        post.broken();
        TestBed.resume(session, post);
        assertThat(events()).isEqualTo(2);
    }

    @Test
    void aConnectionThatReadsADeliveredStreamAgainIsNotRobbedOfIt() {
        EventId start = delivered(1);
        bed.pass(Duration.ofSeconds(59));
        Connection again = Connection.resumed(session.resume(start));
        bed.pass(Duration.ofMinutes(2));
        assertThat(again.read()).containsExactly("result 1");
        assertThat(again.reason()).isEqualTo(EndReason.COMPLETED);
        again.inOrder();
        TestBed.listen(session);
        bed.pass(Duration.ofSeconds(59));
        assertThat(events()).isOne();
        bed.pass(Duration.ofSeconds(2));
        assertThat(events()).isZero();
    }

    @Test
    void onlyTheResponsesThatTheClientHasNotGotAreReplacedByErrors() {
        Connection post = bed.post(session, 1, 2);
        respond(2);
        post.read();
        EventId afterFirst = post.cursor();
        respond(1);
        post.reason();
        post.inOrder();
        TestBed.listen(session);
        bed.pass(Duration.ofSeconds(61));
        Connection late = Connection.gap(session.resume(afterFirst));
        assertThat(late.read()).containsExactly(GONE);
    }

    @Test
    void aCancelledRequestIsOwedNoError() {
        Connection post = bed.post(session, 1);
        EventId start = post.cursor();
        bed.backend.life().call(1).sink().send(Wire.progress("p"));
        session.cancel(Wire.id(1), Wire.cancelled(1));
        post.broken();
        TestBed.listen(session);
        bed.pass(Duration.ofSeconds(61));
        assertThat(TestBed.now(session.resume(start))).isInstanceOf(Resume.Ended.class);
    }

    @Test
    void theResponseInACancelledBatchIsKeptUntilItIsDelivered() {
        Connection post = bed.post(session, 1, 2);
        respond(1);
        session.cancel(Wire.id(2), Wire.cancelled(2));
        post.broken();
        TestBed.listen(session);
        bed.pass(Duration.ofHours(1));
        Connection back = TestBed.resume(session, post);
        assertThat(back.read()).containsExactly("result 1");
        assertThat(back.end).isPresent();
    }

    @Test
    void onlySoManyDeliveredStreamsAreKept() {
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 20, 100, 2, 10))) {
            Session other = small.open();
            EventId[] starts = new EventId[4];
            for (int i = 1; i < 4; i++) {
                Connection post = small.post(other, i);
                starts[i] = post.cursor();
                small.backend.life().call(i).respond();
                post.reason();
                post.inOrder();
            }
            assertThat(Connection.gap(other.resume(starts[1])).read()).containsExactly(GONE);
            assertThat(Connection.resumed(other.resume(starts[2])).read()).containsExactly("result 2");
            assertThat(Connection.resumed(other.resume(starts[3])).read()).containsExactly("result 3");
        }
    }

    @Test
    void onlySoManyTombstonesAreKept() {
        try (TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 20, 100, 0, 10))) {
            Session other = small.open();
            EventId first = null;
            for (int i = 1; i <= 1025; i++) {
                Connection post = small.post(other, i);
                first = first == null ? post.cursor() : first;
                small.backend.life().call(i).respond();
                post.reason();
                post.inOrder();
            }
            assertThat(TestBed.now(other.resume(Objects.requireNonNull(first)))).isInstanceOf(Resume.Unknown.class);
            assertThat(TestBed.now(other.resume(new EventId(new StreamId(1, 2), first.epoch(), 0))))
                    .isInstanceOf(Resume.Gap.class);
        }
    }
}
