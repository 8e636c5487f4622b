package dev.holdfast.engine;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The end of a simulation: everything heals, everybody gets what is due, and nothing is left behind. */
final class SimFinale {
    private static final int ROUNDS = 40;

    private final Simulation world;

    SimFinale(Simulation world) {
        this.world = world;
    }

    void run() {
        boolean delivers = world.random.nextInt(4) > 0;
        if (delivers) {
            heal();
            deliver();
        }
        drain();
        if (world.durable && world.random.nextBoolean()) {
            world.die();
            deliver();
            world.sessions.stream()
                    .filter(SimSession::usable)
                    .forEach(session -> session.live().terminate());
            drain();
        }
        world.pass(Duration.ofHours(3));
        for (SimSession session : world.sessions) {
            world.check(!world.store.has(session), () -> "session " + session.number + " stays in the store for ever");
        }
        world.settle();
    }

    private void heal() {
        world.trace(() -> "everything heals");
        world.store.heal();
        for (int sweep = 0; sweep < 60; sweep++) {
            // what is dropped is judged by what is kept then: a look after each sweep
            world.pass(Duration.ofMillis(500));
            world.settle();
        }
        world.store.heal();
        world.settle();
    }

    /** Backends answer everything, and clients come back until they have it. */
    private void deliver() {
        for (int i = 0; i < ROUNDS; i++) {
            for (SimSession session : world.sessions) {
                if (session.session.isEmpty() && session.closed.isEmpty() && !session.id.isEmpty()) {
                    world.client(session).find();
                }
                if (session.usable()) {
                    world.client(session).dispatchAll();
                    world.settle();
                    List.copyOf(session.lives).forEach(this::answerAll);
                    world.settle();
                    world.client(session).back().comeBack();
                    world.settle();
                    List.copyOf(session.connections).forEach(SimConnection::pumpHonestly);
                }
                world.settle();
                if (world.store.busy(session)) {
                    // a claim that came late has fenced its own engine, which is patient at the second failure
                    world.pass(Duration.ofSeconds(1));
                    world.settle();
                }
            }
        }
        for (SimSession session : world.sessions) {
            if (session.usable()) {
                for (SimCall call : session.calls) {
                    complete(call);
                }
                session.log.after(StreamId.LISTENING, 0).forEach(fact -> withdrawn(session, fact));
            }
        }
        world.settle();
    }

    private void answerAll(SimBackend.Life life) {
        if (!life.outcome.isDone()) {
            life.accept();
        }
        List.copyOf(life.running).forEach(life::respond);
    }

    /** Every request of a call that was opened has its answer, here and in the hands of a client that came back for it. */
    private void complete(SimCall call) {
        boolean told = call.told();
        boolean recorded =
                told || call.stream.filter(call.session.log::recorded).isPresent();
        if (call.call.isEmpty() || (!recorded && call.postedIn < call.session.life)) {
            return;
        }
        for (InboundMessage request : call.requests) {
            boolean cancelled = call.cancelled.contains(request.requiredId())
                    || call.perhapsCancelled.contains(request.requiredId());
            boolean answered = call.session.log.answered(request.requiredId());
            world.check(answered || cancelled, () -> "request " + request.id() + " never got an answer");
            boolean received = call.answers.contains(request.requiredId());
            boolean due = answered && told && world.client(call.session).back().namesCursor;
            world.check(
                    received || !due || call.unknown,
                    () -> "the answer to " + request.id() + " never reached its client");
        }
    }

    /** A client does not wait for ever to be asked no more by a backend that is gone. */
    private void withdrawn(SimSession session, SimLog.Fact fact) {
        RequestId id = fact.event.id();
        if (id == null || fact.event.kind() != EventKind.SERVER_REQUEST || !fact.received || fact.dropped) {
            return;
        }
        if (session.settled.contains(id) || !world.question(id).asker().lost) {
            return;
        }
        boolean told = session.log.after(StreamId.LISTENING, fact.event.offset()).stream()
                .anyMatch(later -> Wire.text(later.event).startsWith("cancelled " + id + ":"));
        world.check(told, () -> "never withdrawn: " + SimLog.name(fact));
    }

    private void drain() {
        world.trace(() -> "the engine drains");
        Optional<Boolean> slow = Optional.of(world.random.nextBoolean());
        var drained = world.engine
                .drain(Duration.ofSeconds(slow.orElse(true) ? 1 : 0))
                .toCompletableFuture();
        for (int i = 0; i < ROUNDS; i++) {
            world.store.step();
            world.settle();
            world.pass(Duration.ofMillis(50));
            world.settle();
            for (SimSession session : world.sessions) {
                List.copyOf(session.connections).forEach(SimConnection::pump);
            }
            world.settle();
        }
        heal();
        for (SimSession session : world.sessions) {
            session.lives.forEach(life -> {
                if (!life.outcome.isDone()) {
                    life.accept();
                }
            });
        }
        heal();
        for (SimSession session : world.sessions) {
            List.copyOf(session.connections).forEach(SimConnection::breakOff);
        }
        world.check(drained.isDone(), () -> "the drain does not end");
        world.check(world.engine.size() == 0, () -> "sessions are left");
        world.check(
                world.engine.stats().runningCalls() == 0,
                () -> world.engine.stats().runningCalls() + " calls are left");
        for (SimSession session : world.sessions) {
            boolean left = session.closed.isPresent() || (world.durable && session.session.isEmpty());
            world.check(left, () -> "session " + session.number + " was never closed");
            for (SimBackend.Life life : session.lives) {
                boolean gone = life.closed || life.refused || life.outcome.isCompletedExceptionally();
                world.check(gone, () -> life + " was never closed");
            }
            boolean gone = session.closed.isEmpty() || session.id.isEmpty() || !world.store.has(session);
            world.check(gone, () -> "the store still has session " + session.number);
            for (SimCall call : session.calls) {
                world.check(call.outcome.isDone(), () -> "a call was never decided");
            }
        }
        world.settle();
        world.allDecided();
    }
}
