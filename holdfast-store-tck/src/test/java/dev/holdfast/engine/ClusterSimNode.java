package dev.holdfast.engine;

import dev.holdfast.Opening;
import dev.holdfast.Session;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;

/** One process of a simulated cluster, with its backend. */
final class ClusterSimNode implements Backend {
    final FlakyCluster store;
    final SessionEngine engine;
    private final ClusterSimulation world;
    private final int number;
    private final ClusterSimulation.Kind kind;
    private final List<Life> lives = new ArrayList<>();
    private final List<Running> running = new ArrayList<>();
    private boolean dead;

    private record Running(Life life, InboundMessage request, CallSink sink, AtomicBoolean cancelled) {}

    ClusterSimNode(ClusterSimulation world, int number, ClusterSimulation.Kind kind) {
        this.world = world;
        this.number = number;
        this.kind = kind;
        this.store = new FlakyCluster(world.shared);
        Duration skew = Duration.ofMillis(world.random.nextInt(2_000) - 1_000);
        this.engine = SessionEngine.builder(this, Wire.MESSAGES)
                .store(store)
                .clock(world.time)
                .wallClock(() -> world.time.instant().plus(skew))
                .scheduler(store.scheduler(world.time))
                .executor(Runnable::run)
                .lease(ClusterBed.LEASE)
                .nodeName("n" + number)
                .random(new Random(world.random.nextLong()))
                .build()
                .start();
    }

    /** Opens a session, of which its backends know this name. */
    Session open(RequestId name) {
        InboundMessage initialize = Wire.request(name, "initialize", JournalChange.NONE);
        return ((Opening.Opened) TestBed.now(engine.open(initialize, "", TestBed.LIFETIME))).session();
    }

    /** How many backends a session has here. */
    long backends(RequestId session) {
        return lives.stream().filter(life -> life.session.equals(session)).count();
    }

    void die() {
        dead = true;
        store.cut();
    }

    /** A backend sends something, in a call or outside of all. */
    void say() {
        if (!running.isEmpty() && world.random.nextBoolean()) {
            CallSink sink = running.get(world.random.nextInt(running.size())).sink;
            int next = world.next();
            sink.send(world.random.nextInt(4) == 0 ? Wire.question("" + next) : Wire.progress("progress " + next));
        } else if (!lives.isEmpty()) {
            Life life = lives.get(world.random.nextInt(lives.size()));
            String text = "notice " + world.next();
            world.trace(this + " says " + text);
            life.sink.send(Wire.notice(text)).whenComplete((done, failure) -> {
                if (failure == null && !dead && !life.closed) {
                    world.shared.acknowledge(text);
                }
            });
        }
    }

    /** A backend answers a call. */
    void respond() {
        if (!running.isEmpty()) {
            respond(running.remove(world.random.nextInt(running.size())));
        }
    }

    void respondAll() {
        List<Running> all = List.copyOf(running);
        running.clear();
        all.forEach(this::respond);
    }

    /** Whatever a backend runs that is cancelled, it was told so. */
    void checkCancelled() {
        for (Running call : running) {
            if (!call.life.closed && !call.cancelled.get() && world.mustBeTold(call.request.requiredId())) {
                world.shared.wrong(call.request.id() + " runs on, and its client was told that it is cancelled");
            }
        }
    }

    private void respond(Running call) {
        world.trace(this + " answers " + call.request.id());
        call.sink.send(Wire.response(call.request.requiredId()));
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        Life life = new Life(request.initialize().requiredId(), sink);
        lives.add(life);
        return CompletableFuture.completedFuture(new Opened(
                life, Wire.out(EventKind.RESPONSE, Wire.id(0), "result 0"), TestBackend.REVISION, Optional.empty()));
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return kind.harmless() && !request.method().equals(ClusterSimClient.SET_LEVEL);
    }

    @Override
    public boolean existsOnce() {
        return kind.once();
    }

    @Override
    public String toString() {
        return "node " + number;
    }

    private static int number(InboundMessage request) {
        return Integer.parseInt(request.requiredId().token());
    }

    /** One connection. */
    private final class Life implements BackendConnection {
        private final RequestId session;
        private final ListeningSink sink;
        private boolean initialized;
        /** The number of the last call that has set the level of its log. */
        private int level;

        private boolean closed;

        private Life(RequestId session, ListeningSink sink) {
            this.session = session;
            this.sink = sink;
        }

        @Override
        public void call(InboundMessage request, CallSink call) {
            world.trace(ClusterSimNode.this + " runs " + request.id());
            if (!initialized) {
                world.shared.wrong(ClusterSimNode.this + " runs " + request.id() + " and has not heard of its client");
            }
            if (request.method().equals(ClusterSimClient.SET_LEVEL)) {
                level = number(request);
            } else if (level < world.levelFor(request.requiredId())) {
                world.shared.wrong(ClusterSimNode.this + " runs " + request.id() + " at level " + level);
            }
            world.ran(request.requiredId());
            AtomicBoolean cancelled = new AtomicBoolean();
            call.onCancel(by -> cancelled.set(true));
            running.add(new Running(this, request, call, cancelled));
        }

        @Override
        public void replay(InboundMessage request, CallSink sink) {
            level = number(request);
            sink.send(Wire.response(request.requiredId()));
        }

        @Override
        public void notify(InboundMessage notification) {
            initialized = true;
        }

        @Override
        public void answer(InboundMessage response) {
            world.answered(response.requiredId());
        }

        @Override
        public CompletionStage<Void> close() {
            closed = true;
            lives.remove(this);
            return CompletableFuture.completedFuture(null);
        }
    }
}
