package dev.holdfast.engine;

import dev.holdfast.SessionState;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Backends that open, answer, ask, chatter, and die when the simulation likes. */
final class SimBackend implements Backend {
    private final Simulation world;

    SimBackend(Simulation world) {
        this.world = world;
    }

    /** Whether a request only reads. */
    static boolean harmless(InboundMessage request) {
        return request.method().equals("tools/list");
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return harmless(request);
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        SimSession session = world.sessions.get(
                SimSession.number(Wire.text(request.initialize().bytes())));
        for (Life older : session.lives) {
            world.check(
                    older.lost || older.closed || older.abandoned, "a second backend was opened beside a living one");
        }
        Life life = new Life(session, sink, request.initialize().requiredId());
        session.lives.add(life);
        sink.onAbandon(life::abandoned);
        world.trace(() -> life + " is being opened");
        if (world.random.nextBoolean()) {
            life.accept();
        }
        return life.outcome;
    }

    /** A request in the hands of a backend. */
    static final class Work {
        private final InboundMessage request;
        private final CallSink sink;
        private final boolean replayed;
        private int progress;

        private Work(InboundMessage request, CallSink sink, boolean replayed) {
            this.request = request;
            this.sink = sink;
            this.replayed = replayed;
        }
    }

    /** One incarnation of a session's backend. */
    final class Life implements BackendConnection {
        final SimSession session;
        final ListeningSink listening;
        final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        final List<Work> running = new ArrayList<>();
        final List<Work> done = new ArrayList<>();
        boolean lost;
        boolean refused;
        private boolean foreign;
        boolean closed;
        private long closedAt;
        boolean abandoned;
        private boolean vanished;
        private final int number;
        private final RequestId initialize;
        private final Set<RequestId> answered = new HashSet<>();
        private Deque<String> expected = new ArrayDeque<>();

        private Life(SimSession session, ListeningSink listening, RequestId initialize) {
            this.session = session;
            this.initialize = initialize;
            this.listening = listening;
            this.number = session.lives.size();
        }

        @Override
        public String toString() {
            return "backend " + session.number + "." + number;
        }

        void accept() {
            if (vanished) {
                return;
            }
            world.trace(() -> this + " accepts");
            boolean again = session.accepted;
            session.accepted = true;
            if (again) {
                expected = new ArrayDeque<>(session.journal());
            }
            String revision = again && world.oneIn(20) ? "another" : "revision";
            outcome.complete(
                    new Opened(this, Wire.response(initialize), revision, Optional.of("id #" + session.number)));
            foreign = !revision.equals("revision");
        }

        /** The whole journal is replayed at once. */
        void checkReplayed() {
            boolean due = !lost && !closed && !abandoned && !foreign && session.usable();
            world.check(!due || expected.isEmpty(), () -> this + " misses " + expected);
        }

        /** Nobody waits for it any more: it leaves at once, or when it comes to it. */
        private void abandoned() {
            world.check(!outcome.isDone(), () -> this + " was abandoned though it is open");
            world.trace(() -> this + " is abandoned");
            abandoned = true;
            if (world.random.nextBoolean()) {
                refuse();
            }
        }

        void refuse() {
            world.trace(() -> this + " refuses");
            lost = true;
            refused = true;
            outcome.complete(new Refused(Wire.refusal(initialize)));
        }

        /** Its process dies, without a word. */
        void vanish() {
            vanished = true;
            lost = true;
            closed = true;
        }

        void die() {
            world.trace(() -> this + " dies");
            lost = true;
            listening.lost("it died");
        }

        /** Whether a message that comes now may have been on its way when the connection was closed. */
        private boolean wasOnItsWay() {
            return closed && !lost && world.time.getAsLong() == closedAt;
        }

        @Override
        public void call(InboundMessage request, CallSink sink) {
            String text = Wire.text(request.bytes());
            boolean replayed = replayed(text);
            Work work = new Work(request, sink, replayed);
            world.trace(() -> this + " gets " + text + (replayed ? " once more" : ""));
            if (wasOnItsWay()) {
                return;
            }
            if (!replayed) {
                SimCall call = world.call(request.requiredId());
                world.check(!lost && !closed, () -> text + " was handed to a dead backend");
                world.check(call.handTo(request.requiredId(), session.life), () -> text + " was handed over again");
                world.check(!call.cancelled.contains(request.requiredId()), () -> text + " was cancelled before");
                world.check(!session.log.answered(request.requiredId()), () -> text + " was answered before");
            }
            running.add(work);
            if (world.random.nextInt(3) == 0) {
                respond(work);
            }
        }

        /** What the store had only after the journal was replayed comes behind that. */
        @Override
        public void replay(InboundMessage request, CallSink sink) {
            if (!expected.isEmpty()) {
                call(request, sink);
                return;
            }
            RequestId id = request.requiredId();
            world.trace(() -> this + " gets " + Wire.text(request.bytes()) + " late");
            if (wasOnItsWay()) {
                return;
            }
            world.check(!lost && !closed, () -> id + " was handed to a dead backend late");
            world.check(session.stands(request), () -> id + " was handed over late though nothing had accepted it");
            running.add(new Work(request, sink, true));
        }

        private boolean replayed(String text) {
            if (expected.isEmpty()) {
                return false;
            }
            String next = expected.poll();
            if (!text.equals(next) && session.turnedAway(text, next)) {
                if (session.journal().contains(next)) {
                    expected.addFirst(next);
                }
                return true;
            }
            world.check(text.equals(next), () -> this + " got " + text + " in the place of " + next);
            return true;
        }

        @Override
        public void notify(InboundMessage notification) {
            String text = Wire.text(notification.bytes());
            if (wasOnItsWay()) {
                return;
            }
            if (!replayed(text)) {
                world.check(!lost && !closed, () -> text + " was handed to a dead backend");
                session.journal(notification);
            }
            session.heard(text);
            world.trace(() -> this + " gets " + text);
        }

        @Override
        public void answer(InboundMessage response) {
            RequestId id = response.requiredId();
            world.check(!lost && !closed, () -> "the answer to " + id + " reached a dead backend");
            world.check(world.question(id).asker() == this, () -> "the answer to " + id + " reached " + this);
            world.check(answered.add(id), () -> "the answer to " + id + " came twice");
        }

        @Override
        public CompletionStage<Void> close() {
            world.trace(() -> this + " is closed");
            closed = true;
            closedAt = world.time.getAsLong();
            // given up before it had answered its journal: as good as lost
            lost |= session.usable() && session.live().state() != SessionState.CLOSED;
            return CompletableFuture.completedFuture(null);
        }

        /** Does one thing. */
        void step() {
            if (vanished) {
                return;
            }
            if (!outcome.isDone()) {
                if (lost || world.random.nextInt(8) > 0) {
                    accept();
                } else if (world.random.nextBoolean()) {
                    refuse();
                } else {
                    die();
                }
                return;
            }
            int choice = world.random.nextInt(20);
            if (choice == 0 && !lost && !closed) {
                die();
            } else if (choice < 3 && !done.isEmpty()) {
                chatter(world.pick(done));
            } else if (choice < 7 || running.isEmpty()) {
                outside();
            } else if (choice < 12) {
                respond(world.pick(running));
            } else {
                chatter(world.pick(running));
            }
        }

        /** Answers, with a result or an error, in time or much too late. */
        void respond(Work work) {
            if (vanished) {
                return;
            }
            RequestId id = work.request.requiredId();
            running.remove(work);
            done.add(work);
            boolean fails = world.oneIn(work.replayed ? 15 : 6);
            OutboundMessage answer =
                    fails ? Wire.refusal(id) : Wire.out(EventKind.RESPONSE, id, "result " + id + pad());
            world.trace(() -> this + " answers " + id);
            world.sent(session, answer, work.sink.send(answer));
        }

        private void chatter(Work work) {
            if (world.oneIn(10)) {
                work.sink.disconnect(Duration.ofSeconds(1));
            } else if (!work.replayed) {
                SimCall call = world.call(work.request.requiredId());
                String home = "#" + session.number + " c" + call.index + " ";
                OutboundMessage message = call.harmless() && !world.oneIn(4)
                        ? Wire.progress("progress " + home + world.next() + " " + ++work.progress)
                        : any(home, Optional.of(call));
                world.sent(session, message, work.sink.send(message));
            }
        }

        private void outside() {
            OutboundMessage message = any("#" + session.number + " ", Optional.empty());
            world.sent(session, message, listening.send(message));
        }

        private OutboundMessage any(String home, Optional<SimCall> call) {
            String text = home + world.next() + pad();
            switch (world.random.nextInt(8)) {
                case 0, 1 -> {
                    return Wire.out(EventKind.SERVER_REQUEST, world.ask(this, call), "question " + text);
                }
                case 2 -> {
                    return Wire.out(EventKind.PING, world.ask(this, call), "ping " + text);
                }
                case 3, 4 -> {
                    return Wire.notice("notice " + text);
                }
                case 5 -> {
                    return Wire.log("log " + text);
                }
                default -> {
                    return Wire.progress("progress " + text + " -");
                }
            }
        }

        private String pad() {
            return " ".repeat(world.random.nextInt(4) == 0 ? world.random.nextInt(400) : world.random.nextInt(20));
        }
    }
}
