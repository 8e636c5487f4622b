package dev.holdfast.engine;

import dev.holdfast.EngineStats;
import dev.holdfast.NodeLimits;
import dev.holdfast.Session;
import dev.holdfast.SessionLimits;
import dev.holdfast.engine.SimLog.Fact;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Streams;
import dev.holdfast.session.Lifecycle;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;

/** What must hold of the engine after every step, seen from inside. */
final class SimChecks {
    private static final int FINISHED = 3;
    private static final int HELD = 4;

    private final Simulation world;
    private final SessionLimits limits;
    private final NodeLimits nodeLimits;
    /** Commits after this moment belong to the present step. */
    private long stepBegan;

    private boolean someWereOpening;
    private int endedBefore;

    SimChecks(Simulation world, SessionLimits limits, NodeLimits nodeLimits) {
        this.world = world;
        this.limits = limits;
        this.nodeLimits = nodeLimits;
    }

    void check() {
        int calls = 0;
        boolean ending = false;
        for (SimSession session : world.sessions) {
            if (session.session.isPresent()) {
                Lifecycle.State state = session.live().lifecycle().state();
                calls += state.running();
                ending |= state.closed() && session.closed.isEmpty();
                if (!state.closed()) {
                    readers(session, state);
                    time(session);
                }
                if (session.closed.isEmpty() || !session.connections.isEmpty()) {
                    history(session, state);
                }
                if (session.closed.isEmpty() && !state.closed()) {
                    noted(session);
                }
            }
        }
        world.check(
                ending || opening() || world.engine.stats().historyBytes() == bytes(),
                () -> "the engine counts " + world.engine.stats().historyBytes() + " bytes, the sessions " + bytes());
        node();
        int running = calls;
        world.check(
                // who comes back into a drain leaves again, in a time of its store
                ending
                        || world.engine.draining()
                        || (running == 0
                                ? world.engine.stats().runningCalls() == 0
                                : world.engine.stats().runningCalls() >= running),
                () -> "the engine counts " + world.engine.stats().runningCalls() + " requests, the sessions " + running
                        + " calls");
        stepBegan = world.tick();
        someWereOpening = opening();
        endedBefore = (int) world.sessions.stream()
                .filter(session -> session.closed.isPresent())
                .count();
    }

    /** Whether a session is counted that has no name yet. */
    private boolean opening() {
        return world.sessions.stream().anyMatch(session -> session.opening);
    }

    private void node() {
        EngineStats now = world.engine.stats();
        boolean exceeded =
                now.historyBytes() > nodeLimits.historyBytes() || now.historyEvents() > nodeLimits.historyEvents();
        world.check(!exceeded, () -> "the engine keeps more than it may: " + now);
        world.check(now.sessions() <= nodeLimits.sessions(), () -> "there are " + now.sessions() + " sessions");
    }

    /** Whether what is gone may have gone for the sake of other sessions. */
    private boolean nodeIsTight() {
        return nodeLimits.historyBytes() < 10_000 || nodeLimits.historyEvents() < 100;
    }

    private long bytes() {
        return world.sessions.stream()
                .filter(SimSession::usable)
                .mapToLong(session -> session.live().weight())
                .sum();
    }

    private void readers(SimSession session, Lifecycle.State state) {
        long reading = session.connections.stream()
                .filter(connection -> !connection.replaced)
                .count();
        world.check(
                state.readers() == reading,
                () -> "session " + session.number + " counts " + state.readers() + " readers, there are " + reading);
        for (LiveStream stream : session.live().streams().all()) {
            boolean read = session.reading(stream.id()).isPresent();
            world.check(
                    read == stream.reader().isPresent(),
                    () -> stream.id() + (read ? " has lost its" : " has a") + " reader");
        }
    }

    private void time(SimSession session) {
        Lifecycle life = session.live().lifecycle();
        long swept = world.time.getAsLong() - Simulation.SWEEP.toNanos();
        world.check(!life.expired(life.state(), swept), () -> "a session has outlived its deadline");
    }

    private void history(SimSession session, Lifecycle.State state) {
        Set<Fact> kept = new HashSet<>();
        long bytes = 0;
        for (LiveStream stream : session.live().streams().all()) {
            bytes += history(session, stream, kept);
        }
        long sum = bytes;
        Streams streams = session.live().streams();
        // what an ended session keeps has lost its bytes, and counts nowhere
        boolean counted = streams.bytes() == sum || state.closed();
        world.check(
                counted && streams.events() == kept.size(),
                () -> "session " + session.number + " counts " + streams.bytes() + " bytes, " + sum + " are kept");
        boolean exceeded = sum > limits.sessionBytes() || kept.size() > limits.sessionEvents();
        world.check(
                !exceeded || state.closed(),
                () -> "session " + session.number + " keeps more than it may and does not end");
        drops(session, kept);
    }

    private long history(SimSession session, LiveStream stream, Set<Fact> kept) {
        long bytes = 0;
        int events = 0;
        boolean spare = false;
        long before = 0;
        for (KeptEvent node = stream.head(); node != null; node = node.next) {
            world.check(node.event.offset() > before, () -> "a stream is out of order");
            before = node.event.offset();
            if (before > stream.committed()) {
                break;
            }
            Fact fact = session.log.fact(node.event);
            if (session.listensOnly && confirmed(session, fact)) {
                boolean known = fact.received || session.answered(fact) || (fact.ping() && !session.awaited(fact));
                world.check(known, () -> "confirmed, but never arrived: " + SimLog.name(fact));
            }
            kept.add(fact);
            bytes += fact.size;
            events++;
            spare |= rank(session, fact) < FINISHED && before < stream.committed() && !session.mayBeOpen(fact);
        }
        boolean closed = session.live().lifecycle().state().closed();
        boolean counted = (stream.bytes() == bytes || closed) && stream.events() == events;
        world.check(counted, () -> "a stream is counted wrongly");
        boolean exceeded = bytes > limits.streamBytes() || events > limits.streamEvents();
        boolean spares = spare;
        world.check(!exceeded || !spares, () -> stream.id() + " of " + session.number + " keeps more than it may");
        return bytes;
    }

    /** The place of an event in the order of dropping, as the simulation sees it. */
    private static int rank(SimSession session, Fact fact) {
        return switch (fact.event.kind()) {
            case EventKind.PROGRESS, EventKind.LOG -> 0;
            case EventKind.PING -> session.awaited(fact) ? 1 : 0;
            case EventKind.SERVER_REQUEST -> session.open(fact) ? HELD : 2;
            case EventKind.RESPONSE, EventKind.ERROR, EventKind.NOTE -> {
                if (session.listensOnly) {
                    yield confirmed(session, fact) ? 2 : HELD;
                }
                yield session.delivered.contains(fact.event.stream()) ? FINISHED : HELD;
            }
            default -> 1;
        };
    }

    private static boolean confirmed(SimSession session, Fact fact) {
        return fact.event.offset() <= session.live().streams().listening().confirmed();
    }

    /** What is gone since the last look was allowed to go, and nothing that should have gone before it is left. */
    private void drops(SimSession session, Set<Fact> kept) {
        List<Fact> gone = new ArrayList<>();
        for (NavigableMap<Long, Fact> stream : session.log.all()) {
            for (Fact fact : stream.values()) {
                if (fact.acked && !fact.dropped && !kept.contains(fact)) {
                    fact.dropped = true;
                    gone.add(fact);
                }
            }
        }
        if (session.closed.isPresent()) {
            return;
        }
        List<Fact> known = new ArrayList<>(gone);
        known.removeIf(fact -> session.call(fact.event.stream()).isEmpty() && !fact.listening());
        for (Fact fact : known) {
            world.check(rank(session, fact) < HELD, () -> SimLog.name(fact) + " was dropped, and must not be");
            boolean over = session.finished.contains(fact.event.stream()) || old(session, fact);
            world.check(
                    over || !session.noted(fact),
                    () -> SimLog.name(fact) + " was dropped, and somebody may come back for it");
        }
        for (Fact fact : known) {
            if (!released(session, fact)) {
                if (nodeIsTight()) {
                    fairly(session, fact, kept, gone);
                } else {
                    order(session, fact, kept, gone);
                }
            }
        }
    }

    /** Whether nobody can ask for it any more, or its stream was kept for long enough. */
    private boolean released(SimSession session, Fact fact) {
        boolean had = (session.listensOnly && world.ephemeral() && confirmed(session, fact))
                || (world.durable && !world.ephemeral() && (fact.listening() || session.carrier) && session.taken(fact))
                || fact.event.offset() <= session.released.getOrDefault(fact.event.stream(), 0L);
        return (had && !session.awaited(fact)) || old(session, fact) || session.finished.contains(fact.event.stream());
    }

    /** Whether nobody knows what its client has of its stream, and that was kept for long enough. */
    private boolean old(SimSession session, Fact fact) {
        Long keptUntil = session.undecided.get(fact.event.stream());
        return keptUntil != null && world.time.getAsLong() - keptUntil >= 0;
    }

    /** Whoever looks at what is kept of a call that was noted finds the note, the answer if there is one, and whether it is over. */
    private void noted(SimSession session) {
        for (SimCall call : session.calls) {
            if (!call.noted()) {
                continue;
            }
            StreamId stream = call.stream.orElseThrow();
            Optional<Session.KeptStream> found = TestBed.now(session.live().kept(stream));
            List<Event> events = found.map(Session.KeptStream::events).orElse(List.of());
            for (Fact fact : session.log.after(stream, 0)) {
                world.check(
                        fact.dropped
                                || !session.noted(fact)
                                || events.stream().anyMatch(event -> event.offset() == fact.event.offset()),
                        () -> SimLog.name(fact) + " is not found");
            }
            boolean complete = found.filter(Session.KeptStream::complete).isPresent();
            boolean answered = call.requests.stream().allMatch(request -> session.log.answered(request.requiredId()));
            world.check(!answered || complete, () -> stream + " of " + session.number + " has its answer, and goes on");
            // who was told nothing yet may be told that the call does not run
            world.check(
                    !complete || call.over() || !call.told(),
                    () -> stream + " of " + session.number + " ends before its call");
        }
    }

    /** Where no limit of its session asked for it, others needed the room: then its session kept more than its share. */
    private void fairly(SimSession session, Fact fact, Set<Fact> kept, List<Fact> gone) {
        boolean own = !fits(fact, kept, gone, true, limits.streamBytes(), limits.streamEvents())
                || !fits(fact, kept, gone, false, limits.sessionBytes(), limits.sessionEvents());
        if (own || opening() || someWereOpening) {
            return;
        }
        int sharing = Math.max(1, world.sessions.size() - endedBefore);
        long bytes = session.live().weight()
                + gone.stream().mapToLong(each -> each.size).sum();
        int events = kept.size() + gone.size();
        boolean more = bytes > nodeLimits.historyBytes() * 15 / 16 / sharing
                || events > nodeLimits.historyEvents() * 15 / 16 / sharing;
        world.check(
                more, () -> SimLog.name(fact) + " was dropped for others, and its session kept no more than its share");
    }

    /** A limit was exceeded, and whatever had to go before is gone. */
    private void order(SimSession session, Fact fact, Set<Fact> kept, List<Fact> gone) {
        boolean ofStream = !fits(fact, kept, gone, true, limits.streamBytes(), limits.streamEvents());
        boolean ofSession = !fits(fact, kept, gone, false, limits.sessionBytes(), limits.sessionEvents());
        world.check(ofStream || ofSession, () -> SimLog.name(fact) + " was dropped without need");
        List<String> left = new ArrayList<>();
        for (Fact other : kept) {
            if (other.since <= stepBegan && before(session, other, fact)) {
                left.add(SimLog.name(other));
                ofSession = false;
                ofStream &= !other.event.stream().equals(fact.event.stream()) || newest(session, other);
            }
        }
        boolean ordered = ofStream || ofSession;
        world.check(ordered, () -> SimLog.name(fact) + " was dropped before " + left);
    }

    /** The newest event of a stream is kept though the stream is too long. */
    private boolean newest(SimSession session, Fact fact) {
        return session.log.after(fact.event.stream(), fact.event.offset()).stream()
                .allMatch(later -> later.since > stepBegan);
    }

    private static boolean before(SimSession session, Fact other, Fact fact) {
        int otherRank = rank(session, other);
        int rank = rank(session, fact);
        boolean inOrder = rank < 2 && !(other.ping() && otherRank == 0);
        return otherRank < rank || (otherRank == rank && inOrder && other.since < fact.since);
    }

    private static boolean fits(
            Fact fact, Set<Fact> kept, List<Fact> gone, boolean sameStream, long bytes, int events) {
        long sum = 0;
        int count = 0;
        List<Fact> all = new ArrayList<>(kept);
        all.addAll(gone);
        for (Fact other : all) {
            if (!sameStream || other.event.stream().equals(fact.event.stream())) {
                sum += other.size;
                count++;
            }
        }
        return sum <= bytes && count <= events;
    }
}
