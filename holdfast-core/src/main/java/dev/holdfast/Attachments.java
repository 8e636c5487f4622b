package dev.holdfast;

import dev.holdfast.Lifecycle.Detachment;
import dev.holdfast.Lifecycle.Move;
import java.time.Duration;
import java.util.Optional;

/** Who reads the streams of a session: attaching, taking over, coming back, leaving. */
final class Attachments {
    private final LiveSession session;
    private final SessionEngine engine;
    private final Lifecycle lifecycle;
    private final Lifetime lifetime;
    private final Upkeep upkeep;
    private final SessionLog log;
    private final StreamTable streams;
    /** When the listening stream was left; as long as nobody has read it, when this life of the session began. */
    private long leftAt;

    Attachments(
            LiveSession session,
            SessionEngine engine,
            Lifecycle lifecycle,
            Lifetime lifetime,
            Upkeep upkeep,
            Outflow outflow) {
        this.session = session;
        this.engine = engine;
        this.lifecycle = lifecycle;
        this.lifetime = lifetime;
        this.upkeep = upkeep;
        this.log = outflow.log();
        this.streams = outflow.streams();
        this.leftAt = engine.now();
    }

    Resume listen() {
        if (engine.handingOver()) {
            return new Resume.Closed(EndReason.DRAINED);
        }
        Effects effects = new Effects();
        Resume answer;
        session.lock();
        try {
            LiveStream stream = streams.listening();
            LiveReader reader = LiveReader.fromConfirmed(session, stream, log.epoch());
            if (!attach(reader, effects)) {
                answer = new Resume.Closed(session.ended());
            } else {
                answer = reading(reader, stream.dropped() > stream.confirmed(), effects);
            }
        } finally {
            session.unlock();
        }
        effects.run();
        return answer;
    }

    Resume resume(EventId after) {
        if (engine.handingOver()) {
            return new Resume.Closed(EndReason.DRAINED);
        }
        Effects effects = new Effects();
        Resume answer;
        session.lock();
        try {
            if (lifecycle.state().closed()) {
                return new Resume.Closed(session.ended());
            }
            answer = streams.find(after.stream())
                    .map(stream -> resume(stream, after, effects))
                    .orElseGet(() -> resumeForgotten(after, effects));
        } finally {
            session.unlock();
        }
        effects.run();
        return answer;
    }

    private Resume resume(LiveStream stream, EventId after, Effects effects) {
        boolean ours = log.had(after.epoch());
        boolean beyond = after.offset() > stream.committed();
        if (beyond && after.epoch().equals(log.epoch())) {
            return new Resume.Unknown();
        }
        long cursor = ours ? stream.reach(after) : 0;
        boolean missed = !ours || cursor < after.offset() || cursor < stream.dropped() || log.doubts(after.epoch());
        streams.release(stream, cursor);
        if (stream.endsAt(cursor)) {
            stream.reader().ifPresent(older -> retire(older, effects));
            return new Resume.Ended();
        }
        LiveReader reader = LiveReader.from(session, stream, cursor, log.epoch());
        return attach(reader, effects) ? reading(reader, missed, effects) : new Resume.Closed(session.ended());
    }

    private Resume resumeForgotten(EventId after, Effects effects) {
        EventId had = log.had(after.epoch()) ? after : new EventId(after.stream(), log.epoch(), 0);
        Optional<LiveStream> errors = streams.afterlife(had);
        if (errors.isEmpty()) {
            return new Resume.Unknown();
        }
        long cursor = errors.get().dropped();
        if (errors.get().endsAt(cursor)) {
            return new Resume.Ended();
        }
        LiveReader reader = LiveReader.from(session, errors.get(), cursor, log.epoch());
        return attach(reader, effects) ? reading(reader, true, effects) : new Resume.Closed(session.ended());
    }

    private Resume reading(LiveReader reader, boolean missed, Effects effects) {
        if (!missed) {
            return new Resume.Resumed(reader);
        }
        effects.add(() -> reportGap(reader.stream()));
        return new Resume.Gap(reader);
    }

    /** Makes a reader the one of its stream; under the lock. False if the session is at its end. */
    boolean attach(LiveReader reader, Effects effects) {
        LiveStream stream = reader.stream();
        Optional<LiveReader> older = stream.reader();
        Move move = older.isPresent() ? lifecycle.touch(engine.now()) : lifecycle.attach(engine.now());
        if (move.leavesClosed()) {
            if (move.closes()) {
                effects.add(() -> session.ending().close(move));
            }
            return false;
        }
        streams.reopen(stream);
        stream.take(reader);
        if (stream.listening()) {
            upkeep.follow();
        }
        older.ifPresent(superseded -> supersede(superseded, effects));
        if (move.reconnects()) {
            effects.add(() -> engine.news().reconnected(session));
        }
        return true;
    }

    /** The client has everything, and has told so on another connection. */
    private void retire(LiveReader older, Effects effects) {
        older.stream().release(older);
        lifecycle.detach(engine.now(), Detachment.IN_ORDER);
        supersede(older, effects);
    }

    private static void supersede(LiveReader older, Effects effects) {
        older.supersede();
        effects.add(older);
    }

    void confirm(LiveReader reader, long offset) {
        session.locked(() -> {
            if (reader.stream().reader().filter(current -> current == reader).isPresent()) {
                streams.confirm(reader.stream(), offset);
            }
        });
    }

    void close(LiveReader reader, StreamReader.Close how) {
        LiveStream stream = reader.stream();
        Move move;
        session.lock();
        try {
            if (!stream.release(reader)) {
                return;
            }
            long now = engine.now();
            leftAt = stream.listening() ? now : leftAt;
            if (how != StreamReader.Close.BROKEN) {
                streams.confirm(stream, reader.cursor());
            }
            boolean delivered = how != StreamReader.Close.BROKEN && reader.atEnd();
            if (delivered || stream.ended().filter(EndReason.CANCELLED::equals).isPresent()) {
                streams.finish(stream, now);
            }
            move = lifecycle.detach(
                    now,
                    switch (how) {
                        case IN_ORDER -> Detachment.IN_ORDER;
                        case HANDOVER -> Detachment.HANDOVER;
                        case BROKEN -> Detachment.BROKEN;
                    });
        } finally {
            session.unlock();
        }
        if (move.detaches()) {
            if (lifetime.grace().isZero()) {
                session.close(EndReason.DISCONNECTED);
            } else {
                engine.news().detached(session, lifetime.grace());
            }
        }
    }

    void reportGap(LiveStream stream) {
        engine.news().gap(session, stream.id().epoch() + "." + stream.id().number());
    }

    /** Sends a client away for a while, unless its session would end with its connection. */
    void disconnect(LiveStream stream, Duration retry) {
        if (session.listensOnly() && lifetime.grace().isZero()) {
            return;
        }
        end(stream, EndReason.POLLING, Optional.of(retry));
    }

    /** Ends the reading of a stream, if somebody reads. */
    void end(LiveStream stream, EndReason reason, Optional<Duration> retry) {
        Effects effects = new Effects();
        session.locked(() -> stream.reader().ifPresent(reader -> {
            reader.end(reason, retry);
            effects.add(reader);
        }));
        effects.run();
    }

    /** Whether a client reads the listening stream. */
    boolean listening() {
        return session.locked(() -> streams.listening().reader().isPresent());
    }

    /** Whether a client reads the listening stream, or has read it so lately that it may be on its way back. */
    boolean followed() {
        return session.locked(() -> {
            boolean gone = engine.time().passed(lifetime.graceNanos(), leftAt, engine.now());
            boolean mayReturn = upkeep.followed() && !gone;
            return mayReturn || streams.listening().reader().isPresent();
        });
    }
}
