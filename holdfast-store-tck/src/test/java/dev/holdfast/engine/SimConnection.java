package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.SessionState;
import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.engine.SimLog.Fact;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.Optional;

/**
 * A connection with its pump, the network under it and the client at its other end. What is written arrives within 100 ms; when
 * the connection breaks, what has not arrived may be lost.
 */
final class SimConnection implements StreamReader.Waker {
    private static final long LATENCY = Duration.ofMillis(100).toNanos();

    final SimSession session;
    final StreamId stream;
    final Optional<SimCall> call;
    /** A newer connection has this one's stream, or its client needs no connection any more. */
    boolean replaced;

    private final StreamReader reader;
    private final Simulation world;
    /** Reads from the errors that stand for forgotten responses. */
    private final boolean afterlife;
    /** Up to here the client has everything, as far as the engine knows: only open questions are repeated. */
    private final long repeatThrough;

    private final Deque<Sent> network = new ArrayDeque<>();
    private long cursor;
    private long gapSeen;
    private boolean resting;
    private boolean woken;
    private boolean aborted;
    private boolean over;
    /** Its client has asked again for the errors that stand for forgotten responses: it hears nothing more from here. */
    private boolean left;
    /** When a write began that is not completed yet. */
    private Optional<Long> writing = Optional.empty();

    private record Sent(long at, Event event, String id) {}

    SimConnection(
            SimSession session, StreamReader reader, Optional<SimCall> call, long cursor, long repeat, boolean dead) {
        this.session = session;
        this.world = session.world;
        this.reader = reader;
        this.call = call;
        this.stream = EventId.parse(reader.position()).orElseThrow().stream();
        this.cursor = cursor;
        this.repeatThrough = repeat;
        this.afterlife = dead;
        this.gapSeen = session.log.dropped(stream);
        if (dead) {
            session.connections.stream()
                    .filter(other -> other.stream.equals(stream))
                    .forEach(other -> other.left = true);
        } else {
            session.reading(stream).ifPresent(SimConnection::replace);
            session.delivered.remove(stream);
        }
        session.connections.add(this);
        reader.wakeWith(this);
        reader.positionTold();
    }

    /** The client has turned to a newer connection: what is still under way on this one arrives nowhere. */
    void replace() {
        replaced = true;
        network.clear();
    }

    @Override
    public String toString() {
        return "connection to " + session.number + ":" + stream.epoch() + "." + stream.number();
    }

    @Override
    public void wake() {
        woken = true;
    }

    @Override
    public void abort() {
        woken = true;
        aborted = true;
    }

    /** The pump runs: it completes a write, reads on, or writes a heartbeat. */
    void pump() {
        arrive();
        if (world.random.nextBoolean()) {
            tell();
        }
        long now = world.time.getAsLong();
        if (writing.isPresent()) {
            reader.wrote(writing.get(), now);
            writing = Optional.empty();
        } else if (!read(1 + world.random.nextInt(2000))) {
            if (!over && world.oneIn(3)) {
                reader.wrote(now, now);
            }
        } else if (world.random.nextBoolean()) {
            reader.wrote(now, now);
        } else {
            writing = Optional.of(now);
        }
    }

    /** The pump runs until there is nothing more, and the network is quick. */
    void pumpHonestly() {
        writing = Optional.empty();
        tell();
        do {
            network.forEach(this::arrive);
            network.clear();
        } while (!over && read(Integer.MAX_VALUE));
    }

    /** Tells the client of a call where it is, so that it can come back, as soon as that may be told. */
    private void tell() {
        if (!over && cursor == 0 && call.isPresent() && call.get().cursor.isEmpty() && reader.recorded()) {
            boolean over = call.get().cancelled() || session.live().state() == SessionState.CLOSED;
            world.check(
                    session.log.recorded(stream) || over, () -> this + " is told to its client, and not to the store");
            call.get().cursor = EventId.parse(reader.position());
        }
    }

    /** A connection that rests without having been woken has nothing to read. */
    void checkRest() {
        world.check(!aborted || mayBeCut(), () -> this + " was aborted though it is the newest");
        if (resting && !woken && !over) {
            int gaps = session.gaps(stream);
            boolean found = reader.read(1) != StreamReader.Rest.REST;
            world.check(!found, () -> this + " was not woken");
            checkGap(gaps);
        }
    }

    /** Another one has replaced it, or its session has ended for what all keep, and more are in its place. */
    private boolean mayBeCut() {
        return replaced || session.live().ended() == EndReason.OVERFLOW;
    }

    private boolean read(int maxBytes) {
        woken = false;
        int gaps = session.gaps(stream);
        StreamReader.Next next = reader.read(maxBytes);
        resting = next == StreamReader.Rest.REST;
        if (next instanceof StreamReader.Events events) {
            world.check(!replaced, () -> this + " reads though it was taken over");
            checkGap(gaps);
            events.events().forEach(this::got);
            return true;
        }
        world.check(
                replaced || next != StreamReader.Rest.REST || nothingAfter(cursor), () -> this + " rests too early");
        if (next instanceof StreamReader.End end) {
            end(end.reason(), gaps);
        } else {
            checkGap(gaps);
        }
        return false;
    }

    private void got(Event event) {
        if (reader.position(event).isEmpty()) {
            gotLastWord(event);
            return;
        }
        network.add(new Sent(world.time.getAsLong(), event, reader.position(event)));
        world.trace(() -> this + " reads " + SimLog.name(event));
        if (afterlife) {
            Fact lost = session.log.stream(stream).get(event.offset());
            world.check(
                    lost != null && lost.dropped && lost.answer() && event.offset() > cursor,
                    () -> "an error for nothing: " + SimLog.name(event));
            cursor = event.offset();
            return;
        }
        Fact fact = session.log.fact(event);
        world.check(fact.acked, () -> SimLog.name(event) + " is visible before its commit");
        world.check(!world.failed(event), () -> SimLog.name(event) + " is visible though it failed");
        world.check(session.home(fact).equals(call), () -> SimLog.name(event) + " was read on " + this);
        world.check(!session.answered(fact), () -> SimLog.name(event) + " was asked again after its answer");
        world.check(event.offset() > cursor, () -> SimLog.name(event) + " came twice, or too late");
        if (event.offset() <= repeatThrough) {
            world.check(session.open(fact), () -> SimLog.name(event) + " was confirmed already");
        }
        world.check(nothingBetween(cursor, event.offset()), () -> "something is missing before " + SimLog.name(event));
        cursor = event.offset();
    }

    /**
     * An error that the store does not have, for a call that has ended with its session, and has no answer there as far as the engine
     * knew.
     */
    private void gotLastWord(Event event) {
        RequestId request = Objects.requireNonNull(event.id());
        world.check(
                session.live().state() == SessionState.CLOSED && event.kind() == EventKind.ERROR,
                () -> SimLog.name(event) + " has no place, though its session lives");
        boolean answered = session.log.stream(stream).headMap(cursor, true).values().stream()
                .anyMatch(fact -> fact.answer() && request.equals(fact.event.id()));
        world.check(!answered, () -> SimLog.name(event) + " is a second answer");
    }

    private boolean nothingBetween(long after, long before) {
        return session.log.between(stream, after, before).stream().allMatch(this::mayBeMissing);
    }

    private boolean nothingAfter(long offset) {
        return afterlife || session.log.after(stream, offset).stream().allMatch(this::mayBeMissing);
    }

    private boolean mayBeMissing(Fact fact) {
        return fact.dropped
                || session.answered(fact)
                || (fact.event.offset() <= repeatThrough && !session.open(fact))
                || (fact.ping() && !session.awaited(fact));
    }

    /** A reader reports a gap exactly if something was dropped that it would have read. */
    private void checkGap(int before) {
        long dropped = session.log.dropped(stream);
        if (session.closed.isPresent()) {
            return;
        }
        boolean missed = !afterlife && dropped > Math.max(gapSeen, Math.max(cursor, repeatThrough));
        gapSeen = dropped;
        boolean reported = session.gaps(stream) > before;
        world.check(
                missed == reported,
                () -> this + (missed ? " has a gap that was not" : " has no gap, but one was") + " reported");
    }

    private void end(EndReason reason, int gaps) {
        world.trace(() -> this + " is ended: " + reason);
        if (reason == EndReason.SUPERSEDED) {
            world.check(mayBeCut(), () -> this + " is replaced by nobody");
            over = true;
            return;
        }
        world.check(!replaced, () -> this + " does not know that it was taken over");
        if (reason == EndReason.COMPLETED || reason == EndReason.CANCELLED) {
            checkGap(gaps);
            world.check(nothingAfter(cursor), () -> this + " ends too early");
            world.check(call.map(SimCall::over).orElse(afterlife), () -> this + " ends before its call");
        }
        if (reason == EndReason.STORE_FAILED) {
            refused();
        }
        over = true;
        if (world.oneIn(4)) {
            breakOff();
            return;
        }
        boolean handover = reason == EndReason.POLLING || reason == EndReason.DRAINED;
        network.forEach(this::arrive);
        network.clear();
        if (complete()) {
            session.delivered(stream);
        }
        reader.close(handover ? Close.HANDOVER : Close.IN_ORDER);
        gone();
    }

    /** The store did not take the start of the call: its client gets 503, and can never come back. */
    private void refused() {
        session.refused(stream);
        call.ifPresent(begun -> {
            world.check(cursor == 0 && begun.cursor.isEmpty(), () -> this + " is refused though it has begun");
            begun.requests.forEach(request -> begun.perhapsCancelled.add(request.requiredId()));
        });
    }

    /** There may be news for a client that does not know where to come back: among them that its call is refused. */
    private boolean unheard() {
        return woken
                && call.filter(begun -> cursor == 0 && begun.cursor.isEmpty()).isPresent();
    }

    private boolean complete() {
        boolean over = call.map(SimCall::over).orElse(false) && nothingAfter(cursor);
        return !afterlife && (over || call.map(SimCall::left).orElse(false));
    }

    /** Ends for its maximum age, if nothing is half-written. */
    void rotate() {
        if (writing.isEmpty() && !replaced && !unheard()) {
            world.trace(() -> this + " is rotated");
            network.forEach(this::arrive);
            network.clear();
            if (complete()) {
                session.delivered(stream);
            }
            reader.close(Close.HANDOVER);
            gone();
        }
    }

    /** Breaks; the part of what was written that has not arrived is lost. */
    void breakOff() {
        world.trace(() -> this + " breaks");
        learnOfRefusal();
        arrive();
        while (!network.isEmpty() && world.random.nextBoolean()) {
            arrive(network.poll());
        }
        if (!replaced && call.map(SimCall::left).orElse(false)) {
            session.delivered(stream);
        }
        reader.close(Close.BROKEN);
        gone();
    }

    /** The process at the other end is gone: the part of what was written that has not arrived is lost. */
    void cut() {
        learnOfRefusal();
        arrive();
        while (!network.isEmpty() && world.random.nextBoolean()) {
            arrive(network.poll());
        }
        gone();
    }

    /** A call that the store did not take in time was refused, though its client will not hear of it here. */
    private void learnOfRefusal() {
        if (unheard() && reader.read(1) instanceof StreamReader.End end && end.reason() == EndReason.STORE_FAILED) {
            refused();
        }
    }

    private void gone() {
        over = true;
        session.connections.remove(this);
        if (!replaced) {
            session.lastSign = world.time.getAsLong();
        }
    }

    private void arrive() {
        while (!network.isEmpty() && world.time.getAsLong() - network.peek().at >= LATENCY) {
            arrive(network.poll());
        }
    }

    private void arrive(Sent sent) {
        if (!left) {
            world.client(session).received(this, sent.event, sent.id, afterlife);
        }
    }
}
