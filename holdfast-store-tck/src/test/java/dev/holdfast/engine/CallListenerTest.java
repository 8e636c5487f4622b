package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.EngineStats;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.Session;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionState;
import dev.holdfast.WriteStall;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What those hear who follow calls, and what is counted of readers and restores. */
class CallListenerTest {
    @AutoClose
    private final TestBed bed = TestBed.durable();

    private final Recorder recorder = new Recorder();

    /** Writes down what it hears. */
    private static final class Recorder implements CallListener {
        final List<String> heard = new ArrayList<>();

        @Override
        public CallWatch started(Session session, InboundMessage request) {
            String name = request.requiredId().token();
            heard.add(name + " started");
            return new CallWatch() {
                @Override
                public Scope enter() {
                    heard.add(name + " entered");
                    return () -> heard.add(name + " left");
                }

                @Override
                public void attached(Attachment how) {
                    heard.add(name + " attached " + how);
                }

                @Override
                public void detached() {
                    heard.add(name + " detached");
                }

                @Override
                public void answered(OutboundMessage answer) {
                    heard.add(name + (answer.kind() == EventKind.ERROR ? " failed" : " answered"));
                }

                @Override
                public void cancelled() {
                    heard.add(name + " cancelled");
                }

                @Override
                public void lost() {
                    heard.add(name + " lost");
                }
            };
        }
    }

    @BeforeEach
    void listen() {
        bed.calls = recorder;
    }

    @Test
    void aCallThatIsCutAndResumedIsFollowedToItsEnd() {
        Session session = bed.open();
        Connection first = bed.post(session, 1);
        first.broken();
        Connection second = TestBed.resume(session, first);
        bed.backend.life().call(1).respond();
        second.broken();

        assertThat(recorder.heard)
                .containsExactly(
                        "1 started",
                        "1 attached STARTED",
                        "1 entered",
                        "1 left",
                        "1 detached",
                        "1 attached RESUMED",
                        "1 answered");
    }

    @Test
    void requestsOfABatchAreFollowedOneByOne() {
        Session session = bed.open();
        bed.post(session, 1, 2);
        bed.backend.life().call(2).respond();
        session.cancel(Wire.id(1), Wire.notification("notifications/cancelled"));

        assertThat(recorder.heard).endsWith("2 answered", "1 cancelled");
        assertThat(recorder.heard).filteredOn(what -> what.endsWith("started")).hasSize(2);
    }

    @Test
    void everyCallOfASessionThatEndsIsOver() {
        Session session = bed.open();
        bed.post(session, 1);
        session.terminate();

        assertThat(recorder.heard).endsWith("1 failed");
    }

    @Test
    void whoFollowsACallTooLateIsToldWhatHasBecomeOfIt() {
        Session session = bed.open();
        Call cancelled = TestBed.accepted(session.call(TestBed.requests(1)));
        Call lost = TestBed.accepted(session.call(TestBed.requests(2)));
        session.cancel(Wire.id(1), Wire.cancelled(1));
        bed.store.hold();
        bed.backend.life().sink.send(Wire.notice("n"));
        bed.store.next().become(TestStore.Fate.LOST);
        session.terminate();
        cancelled.dispatch();
        lost.dispatch();

        assertThat(recorder.heard)
                .containsExactly(
                        "1 started", "1 attached STARTED", "1 cancelled", "2 started", "2 attached STARTED", "2 lost");
    }

    @Test
    void whatFollowsACallCannotDisturbIt() {
        bed.calls = (session, request) -> new CallWatch() {
            @Override
            public Scope enter() {
                throw new IllegalStateException("not my day");
            }

            @Override
            public void answered(OutboundMessage answer) {
                throw new IllegalStateException("not my day");
            }
        };
        Session session = bed.open();
        Connection connection = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        connection.read();
        assertThat(connection.received).hasSize(1);

        bed.calls = (same, request) -> {
            throw new IllegalStateException("not my day");
        };
        Connection next = bed.post(session, 2);
        bed.backend.life().call(2).respond();
        next.read();
        assertThat(next.received).hasSize(1);
    }

    @Test
    void severalListenersHearTheSame() {
        Recorder other = new Recorder();
        bed.calls = CallListener.all(List.of(recorder, CallListener.NONE, other));
        Session session = bed.open();
        bed.post(session, 1).broken();
        bed.backend.life().call(1).respond();

        assertThat(other.heard).isEqualTo(recorder.heard).contains("1 left", "1 detached", "1 answered");
    }

    @Test
    void readersAreCountedAndWhatIsSentToThemAgain() {
        Session session = bed.open();
        Connection first = bed.post(session, 1);
        bed.backend.life().sink.send(Wire.out(EventKind.NOTIFICATION, null, "news"));
        Connection listener = TestBed.listen(session);
        TestBed.listen(session);
        listener.broken();
        first.broken();
        bed.backend.life().call(1).respond();
        TestBed.resume(session, first);

        EngineStats stats = bed.engine.stats();
        assertThat(stats.listened()).isEqualTo(2);
        assertThat(stats.resumed()).isEqualTo(1);
        assertThat(stats.superseded()).isEqualTo(1);
        assertThat(stats.replayed()).as("the news twice, and the response").isEqualTo(3);
        assertThat(stats.states()).containsEntry(SessionState.ATTACHED, 1).containsEntry(SessionState.IDLE, 0);
        assertThat(stats.connections()).isEqualTo(2);
        assertThat(stats.writeStalls()).containsEntry(WriteStall.WAITED, 0L);
    }

    @Test
    void aRestoreIsToldWithItsTime() {
        List<String> ended = new ArrayList<>();
        bed.restores = new SessionLifecycleListener() {
            @Override
            public void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
                ended.add(outcome + " " + took.toSeconds());
            }
        };
        Session session = bed.open();
        bed.backend.life().sink.lost("it died");
        bed.backend.slow = true;
        bed.post(session, 1);
        bed.pass(Duration.ofSeconds(2));
        bed.backend.life().stayAway();
        bed.post(session, 2);
        bed.pass(Duration.ofSeconds(3));
        bed.backend.life().accept();

        assertThat(ended).containsExactly("PUT_OFF 2", "RESTORED 3");
        assertThat(bed.engine.stats().restored()).isEqualTo(1);
    }
}
