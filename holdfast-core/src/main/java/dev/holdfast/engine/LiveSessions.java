package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.SessionState;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.SessionKey;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * The sessions in memory, how many there are, those included that are being opened, what of them is under way, and who makes room for
 * one more. Those that have ended stay here until the store has let them go, so that nobody brings them back. Safe for use by any
 * thread.
 *
 * <p>Sessions that were never used go first, so that a storm of {@code initialize} evicts itself, unless they are so few that they
 * may well be in their handshake; then those that are detached, then those that are idle; of each kind the one that has waited
 * longest. What was used waits in the store from then on, where that outlives this process. What is attached or runs a call never goes.
 * Choosing and going are two steps: a session that was used in between stays, and another is chosen.
 */
final class LiveSessions {
    /** How many of the never used are remembered, so that a storm does not have to look at all sessions for each of its own. */
    private static final int REMEMBERED = 256;

    /** This part of all sessions may be in their handshake: so many of the never used do not go before those in use. */
    private static final int HANDSHAKES = 8;

    private static final int ATTEMPTS = 16;
    private static final Comparator<Candidate> FIRST =
            Comparator.comparingInt(Candidate::rank).thenComparing(Candidate::bySince);
    private static final Comparator<Candidate> FIRST_BACKEND = Comparator.comparing(
                    (Candidate candidate) -> candidate.state.phase() != SessionState.DETACHED)
            .thenComparing(Candidate::bySince);
    /** A session that its client has not used yet is in its handshake for so long, and its backend counts as used. */
    private static final long HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final NodeLimits limits;
    private final Map<SessionKey, LiveSession> sessions = new ConcurrentHashMap<>();
    private final AtomicInteger open = new AtomicInteger();
    /** Those of which something is left, in memory or in a backend that has yet to end. */
    private final AtomicInteger present = new AtomicInteger();

    /** The requests in flight, here or on their way to other nodes. */
    final Quota running;

    private final AtomicInteger forwarded = new AtomicInteger();
    private final AtomicInteger closingBackends = new AtomicInteger();
    private final AtomicInteger taken = new AtomicInteger();
    private final Map<String, Integer> ofPrincipals = new ConcurrentHashMap<>();
    private final ReentrantLock choosing = new ReentrantLock();
    private final Queue<Candidate> unused = new ArrayDeque<>();

    /** A session that can be evicted, as it was seen. */
    private record Candidate(LiveSession session, State state) {
        private static final int UNUSED = 0;

        /** Instants of a monotonic clock: only differences mean something. */
        private int bySince(Candidate other) {
            return Long.signum(state.since() - other.state.since());
        }

        /** A client that has attached and never initialized its session has not used it. */
        private int rank() {
            if (!state.used() || session.revision().isEmpty()) {
                return UNUSED;
            }
            return state.phase() == SessionState.DETACHED ? 1 : 2;
        }

        private boolean changed() {
            return !session.lifecycle().state().equals(state);
        }

        private boolean evict() {
            return session.end().mayPark(state) ? session.end().park(state) : end();
        }

        private boolean end() {
            return session.end().evict(state);
        }

        /** What can wait in the store goes there or stays: while the store is slow or fails, it stays. */
        private boolean canGo() {
            return session.end().resting() || !session.end().mayPark(state);
        }
    }

    LiveSessions(NodeLimits limits) {
        this.limits = limits;
        this.running = new Quota(limits.runningCalls(), limits.principalShare(), Refusal.NODE_CALLS);
    }

    Collection<LiveSession> all() {
        return sessions.values();
    }

    /** How many have not ended. */
    int size() {
        return open.get();
    }

    Optional<LiveSession> get(SessionKey key) {
        return Optional.ofNullable(sessions.get(key));
    }

    boolean has(SessionKey key) {
        return sessions.containsKey(key);
    }

    /** Lets a session in, unless its name is taken. */
    boolean add(LiveSession session) {
        boolean added = sessions.putIfAbsent(session.key(), session) == null;
        if (added) {
            open.incrementAndGet();
        }
        return added;
    }

    /** Takes a place for one more session, unless there is none. */
    Optional<Refusal> enter(String principal, BooleanSupplier draining) {
        // before the look: a drain waits for it
        present.incrementAndGet();
        Optional<Refusal> refusal = draining.getAsBoolean() ? Optional.of(Refusal.DRAINING) : take(principal);
        if (refusal.isPresent()) {
            present.decrementAndGet();
        }
        return refusal;
    }

    /** A session that was let in has closed, and leaves its place. */
    void leaves(String principal) {
        open.decrementAndGet();
        release(principal);
    }

    /** Nothing is left of a session that was not opened. */
    void abandoned(String principal) {
        release(principal);
        ended();
    }

    /** Nothing is left of a session. */
    void ended() {
        present.decrementAndGet();
    }

    /** A session that has closed is not to be found here any more. */
    void remove(SessionKey key) {
        sessions.remove(key);
    }

    /** Takes the place of one session, evicting another where none is free; says why there is none. */
    private Optional<Refusal> take(String principal) {
        if (!takeOf(principal)) {
            return Optional.of(Refusal.PRINCIPAL_SESSIONS);
        }
        if (!takeOne()) {
            releaseOf(principal);
            return Optional.of(Refusal.SESSIONS);
        }
        return Optional.empty();
    }

    /** Why one more would get no place now, if so; nobody goes for this. One may have come free during the search. */
    Optional<Refusal> wouldRefuse(String principal) {
        boolean own = hasRoom(principal)
                || canEvict(session -> session.principal().equals(principal), limits.principalSessions())
                || hasRoom(principal);
        if (!own) {
            return Optional.of(Refusal.PRINCIPAL_SESSIONS);
        }
        boolean room = taken.get() < limits.sessions()
                || canEvict(session -> true, limits.sessions())
                || taken.get() < limits.sessions();
        return room ? Optional.empty() : Optional.of(Refusal.SESSIONS);
    }

    /**
     * Ends a session of a principal that nobody uses, also where it could wait in the store; completes with its name when it has left
     * memory, empty if all are in use. One that is on its way into the store is waited for, and no other ends.
     */
    CompletionStage<Optional<SessionKey>> endOne(String principal) {
        Predicate<LiveSession> own = session -> session.principal().equals(principal);
        Optional<LiveSession> leaving = all().stream()
                .filter(session ->
                        own.test(session) && session.lifecycle().state().end() == EndReason.PARKED)
                .findFirst();
        // a client that reads on another node uses the backend that is here
        return leaving.or(() -> letGo(
                        own.and(session -> !session.readers().listening()), limits.principalSessions(), Candidate::end))
                .<CompletionStage<Optional<SessionKey>>>map(session -> session.end()
                        .gone()
                        .handle((gone, failure) ->
                                failure == null ? Optional.of(session.key()) : Optional.<SessionKey>empty()))
                .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty()));
    }

    private void release(String principal) {
        taken.decrementAndGet();
        releaseOf(principal);
    }

    /** Lets go of sessions that have ended on their own, or were used. */
    void sweep() {
        choosing.lock();
        try {
            unused.removeIf(Candidate::changed);
        } finally {
            choosing.unlock();
        }
    }

    private boolean takeOne() {
        while (true) {
            int now = taken.get();
            if (now >= limits.sessions()) {
                // if nobody can go, somebody may have left meanwhile
                if (!evict(session -> true, limits.sessions()) && taken.get() >= limits.sessions()) {
                    return false;
                }
            } else if (taken.compareAndSet(now, now + 1)) {
                return true;
            }
        }
    }

    /** Nobody in particular has no limit of its own. */
    private boolean takeOf(String principal) {
        if (principal.isEmpty()) {
            return true;
        }
        while (ofPrincipals.merge(principal, 1, Integer::sum) > limits.principalSessions()) {
            releaseOf(principal);
            if (!evict(session -> session.principal().equals(principal), limits.principalSessions())
                    && !hasRoom(principal)) {
                return false;
            }
        }
        return true;
    }

    private boolean hasRoom(String principal) {
        return principal.isEmpty() || ofPrincipals.getOrDefault(principal, 0) < limits.principalSessions();
    }

    private void releaseOf(String principal) {
        if (!principal.isEmpty()) {
            ofPrincipals.computeIfPresent(principal, (who, count) -> count == 1 ? null : count - 1);
        }
    }

    /**
     * Lets one session go, if there is one that can.
     *
     * @param cap how many of those there may be
     * @param goes lets a session go; false if it was used in between
     */
    private Optional<LiveSession> letGo(Predicate<LiveSession> whose, int cap, Predicate<Candidate> goes) {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Optional<Candidate> next = choose(whose, cap);
            if (next.isEmpty() || goes.test(next.get())) {
                return next.map(Candidate::session);
            }
        }
        return Optional.empty();
    }

    private boolean evict(Predicate<LiveSession> whose, int cap) {
        return letGo(whose, cap, Candidate::evict).isPresent();
    }

    private Optional<Candidate> choose(Predicate<LiveSession> whose, int cap) {
        choosing.lock();
        try {
            unused.removeIf(Candidate::changed);
            Optional<Candidate> chosen = unused.stream()
                    .filter(c -> whose.test(c.session))
                    .findFirst()
                    .or(() -> search(whose, cap));
            chosen.ifPresent(unused::remove);
            return chosen;
        } finally {
            choosing.unlock();
        }
    }

    private boolean canEvict(Predicate<LiveSession> whose, int cap) {
        choosing.lock();
        try {
            unused.removeIf(Candidate::changed);
            return unused.stream().anyMatch(c -> whose.test(c.session))
                    || search(whose, cap).isPresent();
        } finally {
            choosing.unlock();
        }
    }

    private Optional<Candidate> search(Predicate<LiveSession> whose, int cap) {
        PriorityQueue<Candidate> neverUsed = new PriorityQueue<>(FIRST.reversed());
        Optional<Candidate> used = Optional.empty();
        int beyondHandshakes = -cap / HANDSHAKES;
        for (LiveSession session : all()) {
            State state = session.lifecycle().state();
            if (!state.held() && !state.closed() && whose.test(session)) {
                Candidate candidate = new Candidate(session, state);
                if (candidate.rank() > Candidate.UNUSED) {
                    boolean first = used.isEmpty() || FIRST.compare(candidate, used.get()) < 0;
                    used = first && candidate.canGo() ? Optional.of(candidate) : used;
                } else {
                    beyondHandshakes++;
                    neverUsed.add(candidate);
                    if (neverUsed.size() > REMEMBERED) {
                        neverUsed.remove();
                    }
                }
            }
        }
        if (beyondHandshakes <= 0 && used.isPresent()) {
            return used;
        }
        List<Candidate> oldest = neverUsed.stream().sorted(FIRST).toList();
        unused.clear();
        oldest.stream().limit(Math.max(0, beyondHandshakes)).forEach(unused::add);
        return oldest.stream().findFirst();
    }

    /**
     * Ends the backend that is needed least: of sessions that no client listens to and that run no call, that of the one which is detached
     * for longest, then of the one that is idle for longest.
     *
     * @param principal whose backend, of any for the empty one
     * @param now by the engine's clock
     * @return false if all are in use
     */
    boolean releaseBackend(String principal, long now) {
        return all().stream()
                .filter(session -> principal.isEmpty() || session.principal().equals(principal))
                .map(session -> new Candidate(session, session.lifecycle().state()))
                .filter(candidate -> backendIsUnused(candidate, now))
                .sorted(FIRST_BACKEND)
                .anyMatch(candidate -> candidate.session.releaseBackend());
    }

    private static boolean backendIsUnused(Candidate candidate, long now) {
        State state = candidate.state;
        boolean handshake = !state.used() && now - state.since() < HANDSHAKE_NANOS;
        return !state.works()
                && !state.closed()
                && !handshake
                && !candidate.session.readers().listening();
    }

    /** How many requests are in flight, here or on their way to other nodes. */
    int running() {
        return Math.toIntExact(running.taken());
    }

    /** How many calls are on their way to other nodes, and have no outcome yet. */
    int forwarded() {
        return forwarded.get();
    }

    /** So many more calls are on their way to other nodes, or fewer. */
    void forwarded(int more) {
        forwarded.addAndGet(more);
    }

    /** A backend is on its way out. */
    void closing(CompletionStage<Void> backend) {
        closingBackends.incrementAndGet();
        backend.whenComplete((gone, failure) -> closingBackends.decrementAndGet());
    }

    /** Whether neither a session is left, nor a backend of one. */
    boolean nothingIsLeft() {
        return present.get() == 0 && closingBackends.get() == 0;
    }
}
