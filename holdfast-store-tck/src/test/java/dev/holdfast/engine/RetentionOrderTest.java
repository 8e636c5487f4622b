package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EventId;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.SessionState;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What is dropped when a limit is reached, and in which order. */
class RetentionOrderTest {
    private static final int EVENTS = 16;

    @AutoClose
    private final TestBed bed = new TestBed(new SessionLimits(1 << 20, 1000, 1 << 20, EVENTS, 256, 64));

    private final Session session = bed.open();

    private void send(String... texts) {
        for (String text : texts) {
            TestBed.now(bed.backend.life().sink.send(message(text)));
        }
    }

    private static OutboundMessage message(String text) {
        if (text.startsWith("progress")) {
            return Wire.progress(text);
        }
        if (text.startsWith("log")) {
            return Wire.log(text);
        }
        if (text.startsWith("ping ")) {
            return Wire.ping(text.substring("ping ".length()));
        }
        return text.startsWith("question ") ? Wire.question(text.substring("question ".length())) : Wire.notice(text);
    }

    private void fill(String kind, int count) {
        for (int i = 0; i < count; i++) {
            send(kind + i);
        }
    }

    /** A response whose connection was ended in order. */
    private Connection delivered(int id) {
        Connection post = bed.post(session, id);
        bed.backend.life().call(id).respond();
        post.reason();
        post.inOrder();
        return post;
    }

    private List<String> kept() {
        List<String> kept = new ArrayList<>();
        for (LiveStream stream : ((LiveSession) session).streams().all()) {
            for (KeptEvent node = stream.head(); node != null; node = node.next) {
                kept.add(Wire.text(node.event));
            }
        }
        return kept;
    }

    @Test
    void progressAndLogsGoFirstTheOldestFirst() {
        send("notice 1", "progress 1", "log 1", "notice 2", "progress 2");
        fill("notice x", 12);
        assertThat(kept()).hasSize(EVENTS).doesNotContain("progress 1").contains("notice 1", "log 1", "progress 2");
        send("notice y");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("log 1").contains("notice 1", "progress 2");
        send("notice z");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("progress 2").contains("notice 1");
    }

    @Test
    void whoeverSentAPingThatIsGivenUpIsTold() {
        send("ping 1");
        fill("question ", EVENTS - 1);
        send("question r");
        assertThat(kept()).doesNotContain("ping 1");
        assertThat(bed.backend.life().heard).singleElement().asString().startsWith("error 1 -32603");
    }

    @Test
    void otherNotificationsGoNext() {
        send("question q", "notice 1", "notice 2");
        fill("question ", EVENTS - 3);
        send("question r");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("notice 1").contains("notice 2", "question q");
        send("question s");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("notice 2").contains("question q");
    }

    @Test
    void aPingThatIsNotAnsweredGoesWithThemAndAnAnsweredOneWithTheFirst() {
        TestBed.listen(session);
        send("ping 1", "notice 1", "ping 2", "notice 2");
        fill("log ", EVENTS);
        assertThat(kept()).hasSize(EVENTS).contains("ping 1", "ping 2");
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("2"))))).isTrue();
        fill("notice x", EVENTS - 3);
        assertThat(kept()).hasSize(EVENTS).contains("ping 1", "notice 2").doesNotContain("ping 2");
        send("notice y");
        assertThat(kept()).hasSize(EVENTS).contains("notice 1").doesNotContain("ping 1");
        assertThat(TestBed.now(session.answer(Wire.answer(new RequestId("1"))))).isFalse();
    }

    @Test
    void thenSettledQuestionsInTheOrderInWhichTheyWereSettled() {
        send("question 1", "question 2", "question 3");
        session.answer(Wire.answer(new RequestId("2")));
        session.answer(Wire.answer(new RequestId("1")));
        fill("question x", EVENTS - 3);
        send("question y");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("question 2").contains("question 1", "question 3");
        send("question z");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("question 1").contains("question 3");
    }

    @Test
    void thenDeliveredResponsesWithTheirStreamsTheOldestFirst() {
        delivered(1);
        delivered(2);
        send("question s");
        session.answer(Wire.answer(new RequestId("s")));
        fill("question x", EVENTS - 2);
        assertThat(kept()).hasSize(EVENTS).contains("result 1", "result 2").doesNotContain("question s");
        send("question y");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("result 1").contains("result 2");
        send("question z");
        assertThat(kept()).hasSize(EVENTS).doesNotContain("result 2");
    }

    @Test
    void neverAResponseThatWasNotDeliveredNorAnOpenQuestion() {
        Connection post = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        post.read();
        post.broken();
        fill("question ", EVENTS - 1);
        assertThat(session.state()).isNotEqualTo(SessionState.CLOSED);
        send("notice");
        assertThat(kept()).hasSize(EVENTS).contains("result 1").doesNotContain("notice");
        assertThat(session.state()).isNotEqualTo(SessionState.CLOSED);
        send("question z");
        assertThat(session.state()).isEqualTo(SessionState.CLOSED);
        assertThat(bed.news.heard).endsWith("closed: OVERFLOW");
    }

    @Test
    void aCancelledCallsQuestionsMayGo() {
        Connection post = bed.post(session, 1);
        bed.backend.life().call(1).sink().send(Wire.question("q"));
        session.cancel(Wire.id(1), Wire.cancelled(1));
        post.broken();
        fill("question x", EVENTS);
        assertThat(kept()).hasSize(EVENTS).doesNotContain("question q");
        assertThat(session.state()).isNotEqualTo(SessionState.CLOSED);
    }

    @Test
    void aResponseThatItsClientComesBackForIsHeldAgain() {
        Connection post = delivered(1);
        EventId start = new EventId(post.cursor().stream(), post.cursor().epoch(), 0);
        Connection back = Connection.resumed(session.resume(start));
        fill("notice", EVENTS + 5);
        assertThat(kept()).contains("result 1");
        assertThat(back.read()).containsExactly("result 1");
        back.inOrder();
        fill("question ", EVENTS);
        assertThat(kept()).doesNotContain("result 1");
    }

    @Test
    void whatWasDroppedIsDroppedFromTheStoreToo() {
        fill("notice", EVENTS + 5);
        send("last");
        LiveSession live = (LiveSession) session;
        int stored = TestBed.now(
                        bed.store.read(live.key(), live.streams().listening().id(), 0, 1 << 20))
                .size();
        assertThat(stored).isLessThanOrEqualTo(EVENTS + 1);
    }
}
