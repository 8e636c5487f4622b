package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What becomes of a {@code Last-Event-ID}, on the stream of a call. */
class ResumeTest {
    @AutoClose
    private final TestBed bed = new TestBed();

    private final Session session = bed.open();

    private TestBackend.Asked call(int id) {
        return bed.backend.life().call(id);
    }

    @Test
    void javaSdk952_theResultOfABrokenCallArrivesOnResume() {
        Connection post = bed.post(session, 1);
        call(1).sink().send(Wire.progress("p1"));
        post.read();
        post.broken();
        Connection resumed = TestBed.resume(session, post);
        call(1).sink().send(Wire.progress("p2"));
        assertThat(resumed.read()).containsExactly("p2");
        call(1).respond();
        assertThat(resumed.read()).containsExactly("p2", "result 1");
        assertThat(resumed.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void javaSdk952_theResultIsKeptThoughTheCallEndedMeanwhile() {
        Connection post = bed.post(session, 1);
        post.broken();
        call(1).sink().send(Wire.progress("p1"));
        call(1).respond();
        Connection resumed = TestBed.resume(session, post);
        assertThat(resumed.read()).containsExactly("p1", "result 1");
        assertThat(resumed.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void whoHasEverythingOfACompletedStreamIsToldThatItEnded() {
        Connection post = bed.post(session, 1);
        call(1).respond();
        post.read();
        post.broken();
        assertThat(TestBed.now(session.resume(post.cursor()))).isInstanceOf(Resume.Ended.class);
        assertThat(TestBed.now(session.resume(post.cursor()))).isInstanceOf(Resume.Ended.class);
    }

    @Test
    void whoHasEverythingOfARunningStreamWaits() {
        Connection post = bed.post(session, 1);
        call(1).sink().send(Wire.progress("p1"));
        post.read();
        post.broken();
        assertThat(TestBed.resume(session, post).read()).isEmpty();
    }

    @Test
    void aStreamThatNeverWasIsUnknown() {
        Connection post = bed.post(session, 1);
        EventId id = post.cursor();
        assertThat(TestBed.now(session.resume(new EventId(new StreamId(1, 99), id.epoch(), 0))))
                .isInstanceOf(Resume.Unknown.class);
    }

    @Test
    void aCursorBeyondTheEndOfItsEpochIsUnknown() {
        Connection post = bed.post(session, 1);
        EventId id = post.cursor();
        assertThat(TestBed.now(session.resume(new EventId(id.stream(), id.epoch(), 1))))
                .isInstanceOf(Resume.Unknown.class);
    }

    @Test
    void aCursorOfAnEpochThatNeverWasIsAGap() {
        Connection post = bed.post(session, 1);
        call(1).sink().send(Wire.progress("p1"));
        post.read();
        post.broken();
        EventId id = post.cursor();
        Epoch foreign = new Epoch(id.epoch().counter(), id.epoch().nonce() + 1);
        Connection resumed = Connection.gap(session.resume(new EventId(id.stream(), foreign, 1)));
        assertThat(resumed.read()).containsExactly("p1");
        assertThat(bed.news.heard).endsWith("gap on 1.1");
    }

    @Test
    void resumingTakesTheStreamOver() {
        Connection post = bed.post(session, 1);
        Connection resumed = TestBed.resume(session, post);
        assertThat(post.aborted).isTrue();
        assertThat(post.reason()).isEqualTo(EndReason.SUPERSEDED);
        call(1).respond();
        assertThat(resumed.read()).containsExactly("result 1");
    }

    @Test
    void whoResumesAtTheEndEndsAConnectionThatStillHangsThere() {
        Connection post = bed.post(session, 1);
        call(1).respond();
        post.read();
        assertThat(TestBed.now(session.resume(post.cursor()))).isInstanceOf(Resume.Ended.class);
        assertThat(post.aborted).isTrue();
        post.broken();
        assertThat(session.state()).isEqualTo(SessionState.IDLE);
        assertThat(bed.news.heard).doesNotContain("gap on 1.1");
    }

    @Test
    void streamsOfOneSessionDoNotMix() {
        Connection one = bed.post(session, 1);
        Connection two = bed.post(session, 2);
        Connection listening = TestBed.listen(session);
        call(2).sink().send(Wire.progress("for 2"));
        call(1).sink().send(Wire.progress("for 1"));
        bed.backend.life().sink.send(Wire.notice("for all"));
        assertThat(one.read()).containsExactly("for 1");
        assertThat(two.read()).containsExactly("for 2");
        assertThat(listening.read()).containsExactly("for all");
    }

    @Test
    void pollingEndsTheConnectionInOrderAndTheCallGoesOn() {
        Connection post = bed.post(session, 1);
        call(1).sink().disconnect(Duration.ofSeconds(3));
        assertThat(post.woken).isOne();
        assertThat(post.reason()).isEqualTo(EndReason.POLLING);
        assertThat(post.end.orElseThrow().retry()).contains(Duration.ofSeconds(3));
        post.handover();
        call(1).respond();
        assertThat(TestBed.resume(session, post).read()).containsExactly("result 1");
    }

    @Test
    void aClientThatCouldNotComeBackIsNotSentAway() {
        Call opened = TestBed.accepted(session.call(TestBed.requests(1)));
        StreamReader reader = opened.reader().orElseThrow();
        opened.dispatch();

        call(1).sink().disconnect(Duration.ofSeconds(3));
        assertThat(reader.read(100)).isEqualTo(StreamReader.Rest.REST);

        call(1).sink().send(Wire.progress("p"));
        assertThat(reader.read(100)).isInstanceOf(StreamReader.Events.class);
        call(1).sink().disconnect(Duration.ofSeconds(3));
        assertThat(reader.read(100)).isInstanceOf(StreamReader.End.class);
    }

    @Test
    void pollingWithoutAConnectionDoesNothing() {
        Connection post = bed.post(session, 1);
        post.broken();
        call(1).sink().disconnect(Duration.ofSeconds(3));
        assertThat(TestBed.resume(session, post).read()).isEmpty();
    }

    @Test
    void anEventIdIsReadBackAsItWasWritten() {
        EventId id = new EventId(new StreamId(7, 1_000_000), new Epoch(12, -5), 35);
        assertThat(EventId.parse(id.toString())).contains(id);
        assertThat(id.toString()).isEqualTo("7.lfls.c." + Integer.toUnsignedString(-5, 36) + ".z");
    }

    @Test
    void whatNoServerWroteIsNoEventId() {
        for (String text : new String[] {
            "",
            ".",
            "1.2.3.4",
            "1.2.3.4.5.6",
            "1.2.3.4.-5",
            "1.2.3.4.+5",
            "01.2.3.4.5",
            "A.2.3.4.5",
            "1.2.3.4.5 ",
            "1.2.3.4.zzzzzzzzzzzzzzzzz",
            "1".repeat(70),
            "1.2.3.4.é"
        }) {
            assertThat(EventId.parse(text)).as(text).isEmpty();
        }
    }
}
