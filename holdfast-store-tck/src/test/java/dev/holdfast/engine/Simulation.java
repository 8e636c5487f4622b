package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.Opening;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * One seeded life of an engine: clients, backends and a store do what chance says, on one thread, and after every step it is
 * checked that nothing went wrong. The same seed gives the same life. Where the seed is even the store outlives the engine: its
 * process dies now and then, and its sessions are put away.
 */
final class Simulation {
    static final Duration SWEEP = Duration.ofMillis(500);
    private static final int STEPS = 150;
    private static final Duration PARK_AFTER = Duration.ofSeconds(10);
    private static final Optional<EndReason> NEVER_KNOWN = Optional.of(EndReason.DRAINED);

    final VirtualTime time = new VirtualTime();
    final List<SimSession> sessions = new ArrayList<>();
    final Map<SimSession, SimClient> clients = new LinkedHashMap<>();
    final Random random;
    final SimStore store;
    /** Whether the store outlives the engine. */
    final boolean durable;

    SessionEngine engine;
    private final List<String> trace;
    private final boolean tracing;
    private final SimChecks checks;
    private final long seed;
    private final SessionLimits limits;
    private final NodeLimits nodeLimits;
    private int processes;
    private final Map<String, SimSession> named = new HashMap<>();
    private final Lifetime lifetime;
    private final Map<RequestId, SimCall> calls = new HashMap<>();
    private final Map<RequestId, Question> questions = new HashMap<>();
    private final List<Sent> sends = new ArrayList<>();
    private final Set<byte[]> failed = Collections.newSetFromMap(new IdentityHashMap<>());
    private Optional<String> failure = Optional.empty();
    private int counter;
    private long ticks;

    /** What a backend asked, and in which call. */
    record Question(SimBackend.Life asker, Optional<SimCall> call) {}

    private record Sent(SimSession session, OutboundMessage message, CompletableFuture<Void> stage) {}

    /**
     * @param trace where the steps are written, if they are
     */
    Simulation(long seed, Optional<List<String>> trace) {
        this.random = new Random(seed);
        this.trace = trace.orElse(List.of());
        this.tracing = trace.isPresent();
        this.seed = seed;
        this.durable = seed % 2 == 0;
        this.store = new SimStore(
                time,
                random,
                sessions,
                durable ? SessionStore.Durability.PROCESS_DEATH : SessionStore.Durability.NOTHING,
                oneOf(0, 50, 90, 100),
                oneOf(0, 0, 3, 15));
        this.limits = new SessionLimits(
                oneIn(2) ? 1 << 20 : 1024 + random.nextInt(2000),
                oneIn(2) ? 1000 : 16,
                oneIn(3) ? 1 << 20 : 2000 + random.nextInt(3000),
                oneIn(2) ? 1000 : 16 + random.nextInt(16),
                oneIn(2) ? 256 : random.nextInt(3),
                oneIn(2) ? 64 : 2 + random.nextInt(3));
        this.nodeLimits = NodeLimits.DEFAULT
                .withPrincipalShare(100)
                .withSessions(oneIn(4) ? 2 : 1000)
                .withHistory(oneIn(6) ? 3000 + random.nextInt(6000) : 1 << 20, oneIn(6) ? 20 : 10_000);
        this.checks = new SimChecks(this, limits, nodeLimits);
        this.lifetime = new Lifetime(
                oneIn(6) ? Duration.ZERO : Duration.ofSeconds((durable ? 15 : 1) + random.nextInt(20)),
                Duration.ofSeconds((durable ? 30 : 1) + random.nextInt(20)),
                Duration.ofSeconds(random.nextInt(10)),
                Duration.ofSeconds(1 + random.nextInt(20)),
                oneIn(3) ? Duration.ofSeconds(1 + random.nextInt(5)) : Duration.ofHours(1));
        this.engine = process();
        trace(() -> "seed " + seed + ", " + limits + ", " + nodeLimits + ", " + lifetime);
    }

    private SessionEngine process() {
        return SessionEngine.builder(new SimBackend(this), Wire.MESSAGES)
                .store(store)
                .limits(limits)
                .nodeLimits(nodeLimits)
                .listener(new SimNews(this))
                .clock(time)
                .wallClock(time)
                .scheduler(time)
                .sweepInterval(SWEEP)
                .parkAfter(PARK_AFTER)
                .executor(Runnable::run)
                .random(new Names(seed + 1_000_003L * processes++))
                .build()
                .start();
    }

    /** The process dies, and with it everything that only it knew; another one takes its place. */
    void die() {
        trace(() -> "the process dies");
        time.shutdownNow();
        store.died();
        sends.clear();
        for (SimSession session : sessions) {
            session.lives.forEach(SimBackend.Life::vanish);
            Optional.ofNullable(clients.get(session)).ifPresent(SimClient::cut);
            session.operations = 0;
            session.doubtful = false;
            session.lastSign = time.getAsLong();
            boolean known = !session.id.isEmpty();
            session.opening = false;
            session.leaves();
            // whoever was not told that it ended finds it again
            session.closed = known && session.stored ? Optional.empty() : session.closed.or(() -> NEVER_KNOWN);
        }
        engine = process();
    }

    /** A client goes away for as long as it takes to be put away. */
    private void goAway(SimSession session) {
        trace(() -> "client " + session.number + " goes away");
        List.copyOf(session.connections).forEach(SimConnection::breakOff);
        List.copyOf(session.lives).forEach(life -> List.copyOf(life.running).forEach(life::respond));
        pass(PARK_AFTER.plusSeconds(random.nextInt(8)));
    }

    void run() {
        for (int i = 0; i < STEPS; i++) {
            step();
            settle();
        }
        new SimFinale(this).run();
    }

    private void step() {
        int choice = random.nextInt(100);
        List<SimSession> open =
                sessions.stream().filter(session -> session.closed.isEmpty()).toList();
        if (durable && oneIn(30)) {
            die();
            return;
        }
        if (choice < 12 && store.step()) {
            return;
        }
        if (open.isEmpty() || (choice < 14 && sessions.size() < 4)) {
            open();
            return;
        }
        SimSession session = pick(open);
        if (durable && oneIn(40)) {
            goAway(session);
            return;
        }
        if (durable && oneIn(40)) {
            List<SimSession> known =
                    sessions.stream().filter(any -> !any.id.isEmpty()).toList();
            if (!known.isEmpty()) {
                client(pick(known)).find();
            }
            return;
        }
        if (choice < 22) {
            pass(Duration.ofMillis(oneIn(8) ? random.nextInt(5000) : random.nextInt(150)));
        } else if (choice < 50 && !session.connections.isEmpty()) {
            connection(pick(session.connections));
        } else if (choice < 75) {
            backend(session);
        } else if (durable && !session.id.isEmpty() && (session.session.isEmpty() || oneIn(20))) {
            client(session).find();
        } else if (session.usable()) {
            client(session).step();
        }
    }

    private void backend(SimSession session) {
        if (!session.lives.isEmpty()) {
            (oneIn(15) ? pick(session.lives) : session.lives.get(session.lives.size() - 1)).step();
        }
    }

    private void connection(SimConnection connection) {
        switch (random.nextInt(12)) {
            case 0, 1 -> connection.breakOff();
            case 2 -> connection.rotate();
            default -> connection.pump();
        }
    }

    void pass(Duration duration) {
        trace(() -> duration + " pass");
        time.advance(duration);
    }

    /** Gives session ids, and remembers whose they are. */
    private final class Names extends Random {
        private static final long serialVersionUID = 1;

        private Names(long seed) {
            super(seed);
        }

        @Override
        public void nextBytes(byte[] bytes) {
            super.nextBytes(bytes);
            named.put(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes), sessions.get(sessions.size() - 1));
        }
    }

    /** The session of an id, which a backend has proposed or the engine has drawn. */
    SimSession session(String id) {
        SimSession drawn = named.get(id);
        return drawn == null ? sessions.get(SimSession.number(id)) : drawn;
    }

    private void open() {
        boolean listensOnly = oneIn(3);
        SimSession session = new SimSession(this, sessions.size(), listensOnly, !listensOnly && oneIn(2));
        sessions.add(session);
        trace(() -> "session " + session.number + " is opened" + (session.listensOnly ? ", and listens only" : "")
                + (session.carrier ? ", and carries what names none" : ""));
        CompletionStage<Opening> opening = session.listensOnly
                ? engine.open("#" + session.number, lifetime)
                : session.carrier
                        ? engine.openCarrier(session.initialize(0), "", lifetime)
                        : engine.open(session.initialize(0), "", lifetime);
        opening.whenComplete((how, broken) -> {
            session.opening = false;
            if (how instanceof Opening.Opened opened) {
                session.session = Optional.of(opened.session());
                session.id = opened.session().id();
                clients.put(session, new SimClient(session, !oneIn(4)));
            } else if (how instanceof Opening.Awaiting awaiting) {
                session.session = Optional.of(awaiting.session());
                session.id = awaiting.session().id();
                SimClient client = new SimClient(session, true);
                clients.put(session, client);
                client.begin();
            } else if (!session.created) {
                session.closed = session.closed.or(() -> Optional.of(EndReason.DRAINED));
            }
        });
    }

    /** Looks at everything after a step, and throws if something went wrong. */
    void settle() {
        clients.values().forEach(SimClient::look);
        checks.check();
        sends.removeIf(this::decided);
        for (SimSession session : sessions) {
            List.copyOf(session.connections).forEach(SimConnection::checkRest);
            session.lives.forEach(SimBackend.Life::checkReplayed);
        }
        if (failure.isPresent()) {
            throw new AssertionError(failure.get());
        }
    }

    /** How long a session waits at least, whether its client listened before or not. */
    long leastWaitMillis() {
        return Math.min(lifetime.graceNanos(), lifetime.idleNanos()) / 1_000_000;
    }

    /** How long a response is kept of which is not known whether its client has it. */
    long patience() {
        return Math.max(lifetime.graceNanos(), lifetime.retentionNanos());
    }

    /** An instant as a time on the wall, in nanoseconds. */
    long sinceStart(long instant) {
        return TimeUnit.MILLISECONDS.toNanos(time.instant().toEpochMilli()) - (time.getAsLong() - instant);
    }

    /** Whether a session that listens only ends with its connection. */
    boolean ephemeral() {
        return lifetime.grace().isZero();
    }

    /** A backend has sent something. */
    void sent(SimSession session, OutboundMessage message, CompletionStage<Void> stage) {
        trace(() -> "backend " + session.number + " sends "
                + Wire.text(message.bytes()).strip());
        sends.add(new Sent(session, message, stage.toCompletableFuture()));
    }

    /** A stage completes with the commit, and fails if there is none. */
    private boolean decided(Sent sent) {
        byte[] bytes = sent.message.bytes();
        boolean acked = sent.session.log.acked(bytes);
        if (!sent.stage.isDone()) {
            check(!acked || sent.session.closed.isPresent(), () -> "no commit was told of " + Wire.text(bytes));
            return false;
        }
        if (sent.stage.isCompletedExceptionally()) {
            // what is in doubt when its session leaves fails, and may be there again when it comes back
            if (sent.session.usable()) {
                // nobody waits for what is in doubt for seconds: that may be there all the same
                if (!sent.session.doubtful) {
                    failed.add(bytes);
                }
                check(!acked, () -> "the commit was told as a failure of " + Wire.text(bytes));
            }
        }
        return true;
    }

    /** Nothing that was sent is without an answer. */
    void allDecided() {
        check(
                sends.isEmpty(),
                () -> "never told what became of "
                        + Wire.text(sends.get(0).message.bytes()));
        settle();
    }

    /** Whether the backend was told that this could not be sent. */
    boolean failed(Event event) {
        return failed.contains(event.bytes());
    }

    RequestId ask(SimBackend.Life asker, Optional<SimCall> call) {
        RequestId id = new RequestId("\"q" + next() + "\"");
        questions.put(id, new Question(asker, call));
        return id;
    }

    Question question(RequestId id) {
        return Objects.requireNonNull(questions.get(id));
    }

    void posted(SimCall call) {
        call.requests.forEach(request -> calls.put(request.requiredId(), call));
    }

    SimCall call(RequestId id) {
        return Objects.requireNonNull(calls.get(id));
    }

    SimClient client(SimSession session) {
        return Objects.requireNonNull(clients.get(session));
    }

    /** A number that nobody else gets. */
    int next() {
        return ++counter;
    }

    /** The order of everything that is committed in any session. */
    long tick() {
        return ++ticks;
    }

    boolean oneIn(int n) {
        return random.nextInt(n) == 0;
    }

    private int oneOf(int... values) {
        return values[random.nextInt(values.length)];
    }

    <T> T pick(List<T> list) {
        return list.get(random.nextInt(list.size()));
    }

    void trace(Supplier<String> step) {
        if (tracing) {
            trace.add(step.get());
        }
    }

    /** Notes the first thing that is wrong; the step is finished before it is reported. */
    void check(boolean right, Supplier<String> wrong) {
        if (!right) {
            fail(wrong.get());
        }
    }

    void check(boolean right, String wrong) {
        if (!right) {
            fail(wrong);
        }
    }

    void fail(String wrong) {
        trace(() -> "WRONG: " + wrong);
        failure = failure.or(() -> Optional.of(wrong));
    }
}
