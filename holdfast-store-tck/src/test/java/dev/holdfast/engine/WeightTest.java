package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.Refusal;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.Unavailable;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a session keeps beside the messages for its client counts, and has a bound. */
class WeightTest {
    private static final String PAD = "x".repeat(1000);

    private final SessionLimits limits = new SessionLimits(1 << 16, 1000, 1 << 16, 1000, 4, 64);
    private final TestBed bed =
            new TestBed(limits, NodeLimits.DEFAULT.withHistory(1 << 18, 1000).withRunningCalls(4));

    @AfterEach
    void nothingIsLeft() {
        bed.close();
        assertThat(bed.engine.stats().historyBytes()).isZero();
    }

    private long weight() {
        return bed.engine.stats().historyBytes();
    }

    private static InboundMessage initialize(int size) {
        return Wire.request(Wire.id(0), "x".repeat(size) + " initialize", JournalChange.NONE);
    }

    private Opening open(InboundMessage initialize) {
        return TestBed.now(bed.engine.open(initialize, "", TestBed.LIFETIME));
    }

    @Test
    void aLongInitializeIsRefused() {
        assertThat(open(initialize(1 << 16))).isEqualTo(new Unavailable(Refusal.BODY_SIZE));
        assertThat(bed.engine.size()).isZero();
        Session session = ((Opening.Awaiting) TestBed.now(bed.engine.open("", TestBed.LIFETIME))).session();
        InboundMessage late = new InboundMessage(
                InboundMessage.Kind.REQUEST,
                Wire.id(0),
                "initialize",
                new byte[(1 << 16) + 1],
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
        assertThat(TestBed.now(session.call(List.of(late)))).isEqualTo(new Call.Refused(Refusal.BODY_SIZE));
    }

    @Test
    void whatSessionsKeepOfTheirInitializeHasABoundForAll() {
        List<Session> sessions = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            sessions.add(((Opening.Opened) open(initialize(50_000))).session());
            bed.post(sessions.get(i), 1);
            bed.backend.lives.get(i).call(1).respond();
            assertThat(weight()).isLessThanOrEqualTo(1 << 18);
        }
        assertThat(sessions).last().matches(session -> session.state() != SessionState.CLOSED);
        assertThat(bed.engine.stats().ended()).containsKey(EndReason.OVERFLOW);
    }

    @Test
    void theJournalCounts() {
        Session session = bed.open();
        long before = weight();
        session.notify(Wire.notification(PAD, new JournalChange.Put("a")));
        assertThat(weight() - before).isEqualTo(PAD.length() + 1);
        session.notify(Wire.notification("short", new JournalChange.Put("a")));
        assertThat(weight() - before).isEqualTo("short".length() + 1);
        session.notify(Wire.notification("gone", new JournalChange.Remove("a")));
        assertThat(weight()).isEqualTo(before);
        session.terminate();
        assertThat(weight()).isZero();
    }

    @Test
    void aFullJournalIsARefusalAndNoFaultOfTheStore() {
        Session session = bed.open();
        for (int i = 0; i < 65; i++) {
            session.notify(Wire.notification(PAD, new JournalChange.Put("key " + i)));
        }
        assertThat(TestBed.now(session.notify(Wire.notification(PAD, new JournalChange.Put("one more")))))
                .contains(Refusal.JOURNAL);
    }

    @Test
    void whatWaitsForABackendCountsAndHasABound() {
        Session session = bed.open();
        long before = weight();
        bed.backend.life().sink.lost("it died");
        bed.backend.slow = true;
        Optional<Refusal> refusal = Optional.empty();
        int taken = 0;
        while (refusal.isEmpty() && taken < 100) {
            refusal = TestBed.now(session.notify(Wire.notification(PAD)));
            taken += refusal.isEmpty() ? 1 : 0;
        }
        assertThat(refusal).contains(Refusal.BACKEND);
        assertThat(taken).isEqualTo(65);
        assertThat(weight() - before).isEqualTo(65L * PAD.length());
        bed.backend.life().accept();
        assertThat(bed.backend.life().heard).hasSize(65);
        assertThat(weight()).isEqualTo(before);
        assertThat(TestBed.now(session.notify(Wire.notification(PAD)))).isEmpty();
    }

    @Test
    void aBatchThatIsGivenBackWaitsAsOne() {
        Session session = bed.open();
        bed.backend.answersReplayed = false;
        long before = weight();
        InboundMessage one = Wire.request(Wire.id(1), PAD.repeat(5), JournalChange.NONE);
        InboundMessage two = Wire.request(Wire.id(2), PAD.repeat(5), JournalChange.NONE);
        Call call = TestBed.accepted(session.call(List.of(one, two)));
        Connection post = new Connection(call.reader().orElseThrow());
        call.dispatch();
        bed.backend.slow = true;
        bed.backend.life().sink.lost("it forgot the session", List.of(one, two));
        assertThat(weight() - before).isEqualTo(one.bytes().length + two.bytes().length);
        bed.backend.life().accept();
        assertThat(weight()).isEqualTo(before);
        bed.backend.life().call(1).respond();
        bed.backend.life().call(2).respond();
        assertThat(post.read()).containsExactly("result 1", "result 2");
    }

    @Test
    void aBatchThatFitsIsTakenWhenItIsGivenBack() {
        Session session = bed.open();
        bed.backend.answersReplayed = false;
        InboundMessage one = Wire.request(Wire.id(1), PAD.repeat(30), JournalChange.NONE);
        InboundMessage two = Wire.request(Wire.id(2), PAD.repeat(30), JournalChange.NONE);
        Call call = TestBed.accepted(session.call(List.of(one, two)));
        Connection post = new Connection(call.reader().orElseThrow());
        call.dispatch();
        bed.backend.life().sink.lost("it forgot the session", List.of(one, two));
        assertThat(post.read()).isEmpty();
        assertThat(bed.backend.life().heard).hasSize(2);
    }

    @Test
    void aNotificationForASessionThatHasEndedIsNotTaken() {
        Session session = bed.open();
        session.terminate();
        assertThat(TestBed.now(session.notify(Wire.notification("late")))).contains(Refusal.UNKNOWN_SESSION);
    }

    @Test
    void theRequestsOfABatchCountOneByOne() {
        Session session = bed.open();
        bed.post(session, 1, 2, 3);
        assertThat(bed.engine.stats().runningCalls()).isEqualTo(3);
        assertThat(TestBed.now(session.call(TestBed.requests(4, 5)))).isEqualTo(new Call.Refused(Refusal.NODE_CALLS));
        bed.post(session, 4);
    }

    @Test
    void whatIsLeftOfForgottenStreamsHasABound() {
        Session session = bed.open();
        String longId = "y".repeat(500);
        for (int i = 0; i < 300; i++) {
            RequestId id = new RequestId(longId + i);
            Call call = TestBed.accepted(session.call(List.of(Wire.request(id, "tools/call", JournalChange.NONE))));
            Connection post = new Connection(call.reader().orElseThrow());
            call.dispatch();
            bed.backend.life().calls.get(i).respond();
            post.read();
            post.inOrder();
        }
        assertThat(weight()).isLessThan((1 << 16) + 10_000);
    }
}
