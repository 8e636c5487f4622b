package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.JournalChange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A call that goes on without the process ({@link CallSink#continueBy}), when its backend is away as another process takes it over. */
class ContinuedCallTest {
    private static final String INTERRUPTED =
            "error 1 -32603: the server ended while this call was running; whether it had any effect is not known";

    private final TestBed bed = TestBed.durable();
    private Session session;
    private Connection post;

    @BeforeEach
    void callThatGoesOn() {
        bed.backend.answersReplayed = false;
        session = bed.open(TestBed.LIFETIME.withCall(Duration.ofSeconds(25)));
        post = bed.post(session, 1);
        sink().continueBy(Wire.request(Wire.id(1), "tasks/result", JournalChange.NONE));
    }

    @AfterEach
    void end() {
        bed.close();
    }

    private CallSink sink() {
        return bed.backend.life().call(1).sink();
    }

    private void restartedWithoutBackend() {
        bed.die();
        bed.backend.slow = true;
        session = bed.find(session.id(), "").orElseThrow();
    }

    /** It cannot be reached, as often as it is tried within some seconds. */
    private void stayAway() {
        for (int i = 0; i < 10; i++) {
            staysAway(bed.backend);
            bed.pass(Duration.ofMillis(500));
        }
    }

    private static void staysAway(TestBackend backend) {
        TestBackend.Life away = backend.life();
        if (!away.outcome.isDone()) {
            away.stayAway();
            away.closed++;
        }
    }

    private void comesBack() {
        bed.backend.slow = false;
        bed.backend.life().accept();
        bed.pass(Duration.ofSeconds(10));
    }

    @Test
    void itWaitsForTheBackend() {
        restartedWithoutBackend();
        stayAway();
        Connection back = TestBed.resume(session, post);
        assertThat(back.read()).isEmpty();
        comesBack();
        assertThat(bed.backend.life().heard).containsExactly("tasks/result 1");
        bed.backend.life().call(1).respond();
        assertThat(back.read()).containsExactly("result 1");
    }

    @Test
    void whatIsRunAgainFromTheBeginningDoesNotWait() {
        bed.backend.life().call(1).respond();
        bed.backend.harmless = "tools/call";
        post = bed.post(session, 1);
        restartedWithoutBackend();
        stayAway();
        assertThat(TestBed.resume(session, post).read()).containsExactly("error 1 -32603: it is away");
    }

    @Test
    void whoComesMeanwhileIsRefusedWhenTheBackendCannotBeReached() {
        restartedWithoutBackend();
        Connection other = bed.post(session, 2);
        stayAway();
        assertThat(other.read()).containsExactly("error 2 -32603: it is away");
        comesBack();
        assertThat(bed.backend.life().heard).containsExactly("tasks/result 1");
        bed.backend.life().call(1).respond();
    }

    /** What its backend hears of its end. */
    private List<String> told() {
        List<String> told = new ArrayList<>();
        sink().onCancel(notification ->
                told.add(notification.map(said -> Wire.text(said.bytes())).orElse("stopped")));
        return told;
    }

    @Test
    void itsBackendHearsThatItWasCancelledMeanwhile() {
        restartedWithoutBackend();
        session.cancel(Wire.id(1), Wire.cancelled(1));
        stayAway();
        comesBack();
        assertThat(bed.backend.life().heard).containsExactly("tasks/result 1");
        assertThat(told()).containsExactly("notifications/cancelled 1");
        bed.backend.life().call(1).respond();
        assertThat(TestBed.now(session.resume(post.cursor()))).isEqualTo(new Resume.Ended());
        restartedWithoutBackend();
        comesBack();
        assertThat(bed.backend.life().heard).isEmpty();
    }

    @Test
    void itsBackendHearsThatItTookTooLong() {
        restartedWithoutBackend();
        bed.pass(Duration.ofSeconds(27));
        assertThat(TestBed.resume(session, post).read())
                .containsExactly("error 1 -32603: the call took longer than 25 s");
        comesBack();
        assertThat(told()).containsExactly("stopped");
    }

    @Test
    void whereNoBackendGoesOnWithItNobodyKnowsWhetherItHadAnEffect() {
        restartedWithoutBackend();
        Connection back = TestBed.resume(session, post);
        bed.backend.life().refuse();
        bed.backend.life().closed++;
        assertThat(back.read()).containsExactly(INTERRUPTED);
    }

    @Test
    void itGoesOnAfterAnotherRestartThoughNoBackendHadItMeanwhile() {
        for (int i = 0; i < 4; i++) {
            restartedWithoutBackend();
            stayAway();
        }
        comesBack();
        assertThat(bed.backend.life().heard).containsExactly("tasks/result 1");
        bed.backend.life().call(1).respond();
    }

    @Test
    void itWaitsOnTheNodeThatHasTakenItOverToo() {
        try (ClusterBed nodes = ClusterBed.once(2)) {
            ClusterBed.Node first = nodes.nodes.get(0);
            ClusterBed.Node second = nodes.nodes.get(1);
            second.backend.answersReplayed = false;
            Session here = first.open();
            Connection call = nodes.post(here, 1);
            first.backend
                    .life()
                    .call(1)
                    .sink()
                    .continueBy(Wire.request(Wire.id(1), "tasks/result", JournalChange.NONE));
            nodes.settle();
            first.die();
            nodes.pass(ClusterBed.LEASE.plusMillis(1));
            second.backend.slow = true;
            Connection back = nodes.resume(second.find(here), call.cursor());
            for (int i = 0; i < 10; i++) {
                staysAway(second.backend);
                nodes.pass(Duration.ofMillis(500));
            }
            assertThat(nodes.read(back)).isEmpty();
            second.backend.slow = false;
            second.backend.life().accept();
            nodes.pass(Duration.ofSeconds(10));
            second.backend.life().call(1).respond();
            assertThat(nodes.read(back)).containsExactly("result 1");
        }
    }
}
