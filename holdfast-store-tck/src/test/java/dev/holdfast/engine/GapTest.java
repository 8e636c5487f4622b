package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.RequestId;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A gap is reported exactly where something was missed. */
class GapTest {
    @AutoClose
    private final TestBed bed = new TestBed(new SessionLimits(1 << 20, 16, 1 << 20, 1000, 256, 64));

    private final Session session = bed.open();

    private void notices(int from, int to) {
        for (int i = from; i <= to; i++) {
            bed.backend.life().sink.send(Wire.notice("n" + i));
        }
    }

    @Test
    void resumeAfterTrimReportsGap() {
        Connection first = TestBed.listen(session);
        notices(1, 3);
        first.read();
        first.broken();
        notices(4, 20);
        Connection back = Connection.gap(session.resume(first.cursor()));
        assertThat(back.read()).hasSize(16).startsWith("n5").endsWith("n20");
        assertThat(bed.news.heard).containsOnlyOnce("gap on 0.0");
    }

    @Test
    void resumeAfterTheTrimmedPartIsWhole() {
        Connection first = TestBed.listen(session);
        notices(1, 4);
        first.read();
        first.broken();
        notices(5, 20);
        assertThat(TestBed.resume(session, first).read()).hasSize(16).startsWith("n5");
        assertThat(bed.news.heard).doesNotContain("gap on 0.0");
    }

    @Test
    void listeningAgainReportsWhatWasDroppedUnconfirmed() {
        notices(1, 17);
        Connection back = Connection.gap(session.listen());
        assertThat(back.read()).hasSize(16).startsWith("n2");
        assertThat(bed.news.heard).containsOnlyOnce("gap on 0.0");
    }

    @Test
    void aSlowReaderMissesWhatIsDroppedUnderIt() {
        Connection slow = TestBed.listen(session);
        notices(1, 2);
        slow.read();
        notices(3, 20);
        assertThat(slow.read()).startsWith("n1", "n2", "n5").endsWith("n20");
        assertThat(bed.news.heard).containsOnlyOnce("gap on 0.0");
    }

    @Test
    void aReaderThatKeepsUpMissesNothing() {
        Connection quick = TestBed.listen(session);
        for (int i = 1; i <= 100; i++) {
            notices(i, i);
            assertThat(quick.read()).hasSize(i);
        }
        assertThat(bed.news.heard).doesNotContain("gap on 0.0");
    }

    @Test
    void whatIsConfirmedAlreadyIsNotMissed() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.question("q"));
        notices(1, 10);
        first.read();
        first.handover();
        Connection second = TestBed.listen(session);
        session.answer(Wire.answer(new RequestId("q")));
        notices(11, 20);
        assertThat(second.read()).startsWith("n11").endsWith("n20");
        assertThat(bed.news.heard).doesNotContain("gap on 0.0");
    }

    @Test
    void aPingThatNobodyGotIsNotMissed() {
        Connection first = TestBed.listen(session);
        bed.backend.life().sink.send(Wire.ping("p"));
        first.broken();
        for (int i = 1; i <= 16; i++) {
            bed.backend.life().sink.send(Wire.question("q" + i));
        }
        assertThat(TestBed.resume(session, first).read()).hasSize(16).startsWith("question q1");
        assertThat(bed.news.heard).doesNotContain("gap on 0.0");
    }

    @Test
    void aRunningCallSkipsTheHoleAndGoesOn() {
        Connection post = bed.post(session, 1);
        post.broken();
        for (int i = 1; i <= 20; i++) {
            bed.backend.life().call(1).sink().send(Wire.progress("p" + i));
        }
        Connection back = Connection.gap(session.resume(post.cursor()));
        bed.backend.life().call(1).respond();
        assertThat(back.read()).startsWith("p6").endsWith("p20", "result 1");
        assertThat(back.reason()).isEqualTo(EndReason.COMPLETED);
    }

    @Test
    void aReaderWhoseLastEventsWereDroppedStillComesToTheEnd() {
        TestBed small = new TestBed(new SessionLimits(1 << 20, 100, 1 << 20, 16, 256, 64));
        Session other = small.open();
        Connection post = small.post(other, 1);
        small.backend.life().call(1).sink().send(Wire.progress("p"));
        other.cancel(Wire.id(1), Wire.cancelled(1));
        for (int i = 1; i <= 16; i++) {
            small.backend.life().sink.send(Wire.notice("n" + i));
        }
        assertThat(post.read()).isEmpty();
        assertThat(post.end.orElseThrow().reason()).isEqualTo(EndReason.CANCELLED);
        assertThat(small.news.heard).contains("gap on 1.1");
        small.close();
    }
}
