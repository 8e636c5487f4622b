package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.CallListener;
import dev.holdfast.CallWatch;
import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Listeners that throw what no one expects, as where a class of theirs is missing. */
class FailingListenerTest {
    @AutoClose
    private final TestBed bed = TestBed.durable();

    private final List<String> heard = new ArrayList<>();
    /** How often a listener was about to throw. */
    private int failures;

    /** Throws at everything. */
    private final CallWatch failing = new CallWatch() {
        @Override
        public Scope enter() {
            throw missing();
        }

        @Override
        public void attached(Attachment how) {
            throw missing();
        }

        @Override
        public void answered(OutboundMessage answer) {
            throw missing();
        }
    };

    /** Throws when the call has been handed over. */
    private final CallWatch failingInTheEnd = new CallWatch() {
        @Override
        public Scope enter() {
            heard.add("last entered");
            return () -> {
                throw missing();
            };
        }
    };

    private final CallWatch recording = new CallWatch() {
        @Override
        public Scope enter() {
            heard.add("entered");
            return () -> heard.add("left");
        }

        @Override
        public void answered(OutboundMessage answer) {
            heard.add("answered");
        }
    };

    private NoClassDefFoundError missing() {
        failures++;
        return new NoClassDefFoundError("not my day");
    }

    private void assertAnswered() {
        Session session = bed.open();
        Connection connection = bed.post(session, 1);
        bed.backend.life().call(1).respond();
        assertThat(connection.read()).containsExactly("result 1");
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void anErrorOfWhatFollowsACallDoesNotDisturbIt() {
        bed.calls = (session, request) -> failing;
        assertAnswered();
        assertThat(failures).isEqualTo(3);
    }

    @Test
    void anErrorOfAListenerOfCallsDoesNotDisturbThem() {
        bed.calls = (session, request) -> {
            throw missing();
        };
        assertAnswered();
        assertThat(failures).isOne();
    }

    @Test
    @SuppressWarnings("NullAway") // what a user's lambda may do
    void aListenerThatReturnsNothingLeavesNoSessionBehind() {
        bed.calls = (session, request) -> null;
        assertAnswered();
        Session session = bed.open();
        bed.post(session, 2).broken();
        TestBed.now(session.terminate());
        assertThat(bed.backend.life().closed).isOne();
        assertThat(bed.engine.stats().runningCalls()).isZero();
    }

    @Test
    void ofSeveralListenersEachHearsOfACallWhateverTheOthersThrow() {
        CallListener throwing = (session, request) -> {
            throw missing();
        };
        bed.calls = CallListener.all(
                List.of(throwing, started(failing), started(recording), started(failing), started(failingInTheEnd)));
        assertAnswered();
        assertThat(heard).as("no scope stays open").containsExactly("entered", "last entered", "left", "answered");
    }

    private static CallListener started(CallWatch watch) {
        return (Session session, InboundMessage request) -> watch;
    }

    private void assertOpens(SessionLifecycleListener listener) {
        VirtualTime time = new VirtualTime();
        try (SessionEngine engine = SessionEngine.builder(new TestBackend(), Wire.MESSAGES)
                .listener(listener)
                .clock(time)
                .wallClock(time)
                .scheduler(time)
                .executor(Runnable::run)
                .build()
                .start()) {
            assertThat(TestBed.now(engine.open(Wire.initialize(), "", TestBed.LIFETIME)))
                    .isInstanceOf(Opening.Opened.class);
            CompletionStage<Void> drained = engine.drain(Duration.ZERO);
            time.advance(Duration.ofMinutes(1));
            TestBed.now(drained);
        }
        assertThat(failures).isOne();
    }

    private SessionLifecycleListener failingAtOpening() {
        return new SessionLifecycleListener() {
            @Override
            public void onSessionCreated(String sessionId) {
                throw missing();
            }
        };
    }

    @Test
    void anErrorOfAListenerOfSessionsChangesNothing() {
        assertOpens(failingAtOpening());
    }

    @Test
    void ofSeveralListenersEachHearsOfASessionWhateverTheOthersThrow() {
        TestBed.News behind = new TestBed.News();
        assertOpens(SessionLifecycleListener.all(List.of(failingAtOpening(), behind)));
        assertThat(behind.heard).startsWith("created");
    }

    @Test
    void ofSeveralListenersEachHearsOfEverything() {
        Class<?> several = SessionLifecycleListener.all(List.of(new TestBed.News(), new TestBed.News()))
                .getClass();
        assertThat(Arrays.stream(SessionLifecycleListener.class.getDeclaredMethods())
                        .filter(Method::isDefault)
                        .map(Method::getName))
                .isSubsetOf(Arrays.stream(several.getDeclaredMethods())
                        .map(Method::getName)
                        .toList());
    }
}
