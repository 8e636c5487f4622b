package dev.holdfast.engine;

import dev.holdfast.Call;
import dev.holdfast.CallListener;
import dev.holdfast.EndReason;
import dev.holdfast.Finding;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.RestoreOutcome;
import dev.holdfast.Session;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;

/** An engine whose surroundings belong to the test. */
final class TestBed implements AutoCloseable {
    static final Duration GRACE = Duration.ofSeconds(30);
    static final Duration IDLE = Duration.ofSeconds(90);
    static final Duration PARK_AFTER = Duration.ofSeconds(10);
    static final Lifetime LIFETIME = new Lifetime(GRACE, IDLE, Duration.ofSeconds(60), IDLE, Duration.ofDays(365));

    final VirtualTime time = new VirtualTime();
    final TestStore store = new TestStore(time);
    final TestBackend backend = new TestBackend();
    final News news = new News();
    CallListener calls = CallListener.NONE;
    SessionLifecycleListener restores = SessionLifecycleListener.NONE;
    private final SessionLimits limits;
    private final NodeLimits nodeLimits;
    private int processes;
    /** Whether what is to be done elsewhere is done, at once. */
    boolean executing = true;

    boolean rejecting;

    SessionEngine engine;

    TestBed() {
        this(SessionLimits.DEFAULT);
    }

    TestBed(SessionLimits limits) {
        this(limits, NodeLimits.DEFAULT);
    }

    TestBed(SessionLimits limits, NodeLimits nodeLimits) {
        this(limits, nodeLimits, SessionStore.Durability.NOTHING, false);
    }

    private TestBed(SessionLimits limits, NodeLimits nodeLimits, SessionStore.Durability durability, boolean shared) {
        this(limits, nodeLimits, durability, shared, Integer.MAX_VALUE);
    }

    private TestBed(
            SessionLimits limits,
            NodeLimits nodeLimits,
            SessionStore.Durability durability,
            boolean shared,
            int connections) {
        this.limits = limits;
        this.nodeLimits = nodeLimits;
        backend.most = connections;
        store.durability = durability;
        store.shared = shared;
        engine = start();
    }

    /** One whose backend has no more connections than this. */
    static TestBed limited(int connections) {
        return new TestBed(
                SessionLimits.DEFAULT, NodeLimits.DEFAULT, SessionStore.Durability.NOTHING, false, connections);
    }

    /** One whose store outlives its engine, and is used by other engines too. */
    static TestBed shared() {
        return new TestBed(SessionLimits.DEFAULT, NodeLimits.DEFAULT, SessionStore.Durability.PROCESS_DEATH, true);
    }

    /** One whose store outlives its engine. */
    static TestBed durable() {
        return durable(NodeLimits.DEFAULT);
    }

    static TestBed durable(NodeLimits nodeLimits) {
        return new TestBed(SessionLimits.DEFAULT, nodeLimits, SessionStore.Durability.PROCESS_DEATH, false);
    }

    static TestBed durable(SessionLimits limits) {
        return new TestBed(limits, NodeLimits.DEFAULT, SessionStore.Durability.PROCESS_DEATH, false);
    }

    /** The process dies, without a word to anybody, and another one takes its place. */
    void die() {
        time.shutdownNow();
        backend.died();
        engine = start();
    }

    private SessionEngine start() {
        return SessionEngine.builder(backend, Wire.MESSAGES)
                .store(store)
                .limits(limits)
                .nodeLimits(nodeLimits)
                .listener(SessionLifecycleListener.all(List.of(news, restored())))
                .callListener((session, request) -> calls.started(session, request))
                .clock(time)
                .wallClock(time)
                .scheduler(time)
                .parkAfter(PARK_AFTER)
                .executor(task -> {
                    if (rejecting) {
                        throw new RejectedExecutionException("full");
                    }
                    if (executing) {
                        task.run();
                    }
                })
                .random(new Random(++processes))
                .build()
                .start();
    }

    /** Tells of restores whoever wants to know. */
    private SessionLifecycleListener restored() {
        return new SessionLifecycleListener() {
            @Override
            public void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
                restores.onRestoreEnded(sessionId, outcome, took);
            }
        };
    }

    /** Everything that a listener heard, in order. */
    static final class News implements SessionLifecycleListener {
        final List<String> heard = new ArrayList<>();

        @Override
        public void onSessionCreated(String sessionId) {
            heard.add("created");
        }

        @Override
        public void onSessionDetached(String sessionId, Duration grace) {
            heard.add("detached, waiting " + grace.toSeconds() + " s");
        }

        @Override
        public void onSessionReconnected(String sessionId) {
            heard.add("reconnected");
        }

        @Override
        public void onSessionParked(String sessionId) {
            heard.add("parked");
        }

        @Override
        public void onSessionRestored(String sessionId) {
            heard.add("restored");
        }

        @Override
        public void onBackendReleased(String sessionId) {
            heard.add("backend released");
        }

        @Override
        public void onBackendChanged(String sessionId) {
            heard.add("backend changed");
        }

        @Override
        public void onSessionClosed(String sessionId, EndReason reason) {
            heard.add("closed: " + reason);
        }

        @Override
        public void onCallTimedOut(String sessionId) {
            heard.add("timed out");
        }

        @Override
        public void onGap(String sessionId, String stream) {
            heard.add("gap on " + stream);
        }
    }

    Session open() {
        return open(LIFETIME);
    }

    Session open(Lifetime lifetime) {
        return ((Opening.Opened) now(engine.open(Wire.initialize(), "", lifetime))).session();
    }

    /** The value of a stage that is complete. */
    static <T> T now(CompletionStage<T> stage) {
        if (!stage.toCompletableFuture().isDone()) {
            throw new AssertionError("not complete yet");
        }
        return stage.toCompletableFuture().join();
    }

    /** The session of an id, if there is one now. */
    Optional<Session> find(String id, String principal) {
        return now(engine.find(id, principal)) instanceof Finding.Found found
                ? Optional.of(found.session())
                : Optional.empty();
    }

    static List<InboundMessage> requests(int... ids) {
        return Arrays.stream(ids).mapToObj(Wire::request).toList();
    }

    /** Posts requests, and returns the connection of their stream. */
    Connection post(Session session, int... ids) {
        Call call = accepted(session.call(requests(ids)));
        Connection connection = new Connection(call.reader().orElseThrow());
        call.dispatch();
        return connection;
    }

    static Call accepted(CompletionStage<Call.Outcome> outcome) {
        return ((Call.Accepted) now(outcome)).call();
    }

    static Connection listen(Session session) {
        return Connection.resumed(session.listen());
    }

    static Connection resume(Session session, Connection from) {
        return Connection.resumed(session.resume(from.cursor()));
    }

    void pass(Duration duration) {
        time.advance(duration);
    }

    @Override
    public void close() {
        store.release();
        CompletionStage<Void> drained = engine.drain(Duration.ZERO);
        time.advance(Duration.ofMinutes(1));
        now(drained);
    }
}
