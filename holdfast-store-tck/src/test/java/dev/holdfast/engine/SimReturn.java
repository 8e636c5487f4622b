package dev.holdfast.engine;

import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionState;
import dev.holdfast.engine.SimLog.Fact;
import dev.holdfast.log.LiveStream;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Optional;

/** How a client comes back to its streams, with {@code Last-Event-ID} or without, and what it has to find there. */
final class SimReturn {
    /** Whether it comes back with {@code Last-Event-ID}. */
    final boolean namesCursor;
    /** What it will name as its cursor on the listening stream. */
    Optional<EventId> listening = Optional.empty();

    private final SimSession session;
    private final Simulation world;

    SimReturn(SimSession session, boolean namesCursor) {
        this.session = session;
        this.world = session.world;
        this.namesCursor = namesCursor;
    }

    /** Opens again whatever is not open, and has not come to its end. */
    void comeBack() {
        if (session.reading(StreamId.LISTENING).isEmpty()) {
            listen();
        }
        for (SimCall call : session.calls) {
            boolean complete = call.requests.stream()
                    .map(InboundMessage::requiredId)
                    .allMatch(id -> call.answers.contains(id) || call.cancelled.contains(id));
            if (!complete && call.stream.flatMap(session::reading).isEmpty()) {
                resume(call);
            }
        }
    }

    /** Opens the listening stream, anew or where it was. */
    void listen() {
        if (namesCursor && listening.isPresent()) {
            resume(listening.get(), Optional.empty());
            return;
        }
        LiveStream stream = session.live().streams().listening();
        long confirmed = stream.confirmed();
        for (Fact fact : session.log.between(StreamId.LISTENING, 0, confirmed + 1)) {
            boolean known = fact.received || fact.dropped || (fact.ping() && !session.awaited(fact));
            world.check(known, () -> "confirmed, but never arrived: " + SimLog.name(fact));
        }
        boolean gap = session.log.dropped(StreamId.LISTENING) > confirmed;
        world.trace(() -> "client " + session.number + " listens after " + confirmed);
        Resume answer = TestBed.now(session.live().listen());
        attach(answer, Optional.empty(), 0, confirmed, gap);
        if ((session.listensOnly || world.random.nextBoolean()) && answer instanceof Resume.Resumed resumed) {
            listening = EventId.parse(resumed.reader().position());
        }
    }

    /** Comes back for the rest of a call. */
    void resume(SimCall call) {
        if (namesCursor && call.cursor.isPresent()) {
            resume(call.cursor.get(), Optional.of(call));
        }
    }

    /** Nobody comes back for a call any more: its stream is told that its client has everything. */
    void expire(SimCall call) {
        StreamId stream = call.stream.orElseThrow();
        List<Event> kept = TestBed.now(session.live().kept(stream))
                .map(Session.KeptStream::events)
                .orElse(List.of());
        if (!kept.isEmpty()) {
            world.trace(() -> "call " + call.index + " of " + session.number + " expires");
            call.unknown = true;
            Event last = kept.get(kept.size() - 1);
            resume(new EventId(stream, last.epoch(), last.offset()), Optional.of(call));
            session.reading(stream).ifPresent(SimConnection::pumpHonestly);
        }
    }

    private void resume(EventId cursor, Optional<SimCall> call) {
        world.trace(() -> "client " + session.number + " resumes after " + cursor);
        StreamId stream = cursor.stream();
        boolean forgotten = session.live().streams().find(stream).isEmpty();
        session.released.merge(stream, cursor.offset(), Math::max);
        boolean gap = session.log.dropped(stream) > cursor.offset();
        boolean unknown = forgotten
                && call.isPresent()
                && call.get().postedIn < session.life
                && !session.brought.contains(stream);
        Resume answer = TestBed.now(session.live().resume(cursor));
        if (unknown && session.live().state() != SessionState.CLOSED) {
            world.check(answer instanceof Resume.Unknown, () -> "known, but not to the store: " + answer);
            call.get().unknown = true;
            return;
        }
        if (answer instanceof Resume.Ended) {
            for (Fact fact : session.log.after(stream, cursor.offset())) {
                world.check(fact.dropped && !fact.answer(), () -> "told to be at the end before " + SimLog.name(fact));
            }
            world.check(call.isPresent() && call.get().over(), () -> "told to be at the end of " + cursor);
            session.reading(stream).ifPresent(SimConnection::replace);
            session.delivered(stream);
            return;
        }
        attach(answer, call, cursor.offset(), 0, gap || forgotten);
    }

    private void attach(Resume answer, Optional<SimCall> call, long cursor, long repeat, boolean gap) {
        if (answer instanceof Resume.Closed) {
            world.check(session.live().state() == SessionState.CLOSED, "a session that is open was called closed");
            return;
        }
        boolean reported = answer instanceof Resume.Gap;
        world.check(gap == reported, gap ? "a gap was not reported" : "a gap was reported that is none");
        if (answer instanceof Resume.Resumed resumed) {
            new SimConnection(session, resumed.reader(), call, cursor, repeat, false);
        } else if (answer instanceof Resume.Gap holed) {
            StreamId stream = EventId.parse(holed.reader().position()).orElseThrow().stream();
            boolean dead = session.live().streams().find(stream).isEmpty();
            new SimConnection(session, holed.reader(), call, cursor, repeat, dead);
        } else {
            world.fail("a cursor that an event had is unknown: " + answer);
        }
    }
}
