package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.Refusal;
import dev.holdfast.SessionState;
import dev.holdfast.session.Lifecycle.State;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.SessionKey;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * How many sessions there are, those included that are being opened; and who makes room for one more.
 *
 * <p>Sessions that were never used go first, so that a storm of {@code initialize} evicts itself, unless they are so few that they
 * may well be in their handshake; then those that are detached, then those that are idle; of each kind the one that has waited
 * longest. What was used waits in the store from then on, where that outlives this process. What is attached or runs a call never goes. Choosing
 * and going are two steps: a session that was used in between stays, and another is chosen.
 */
final class Capacity {
    /** How many of the never used are remembered, so that a storm does not have to look at all sessions for each of its own. */
    private static final int REMEMBERED = 256;

    /** This part of all sessions may be in their handshake: so many of the never used do not go before those in use. */
    private static final int HANDSHAKES = 8;

    private static final int ATTEMPTS = 16;
    private static final Comparator<Candidate> FIRST = Comparator.comparingInt(Candidate::rank)
            .thenComparing((one, other) -> {
                // instants of a monotonic clock: only differences mean something
                return Long.signum(one.state.since() - other.state.since());
            });

    private final LiveSessions live;
    private final NodeLimits limits;
    private final AtomicInteger taken = new AtomicInteger();
    private final Map<String, Integer> ofPrincipals = new ConcurrentHashMap<>();
    private final ReentrantLock choosing = new ReentrantLock();
    private final Queue<Candidate> unused = new ArrayDeque<>();

    /** A session that can be evicted, as it was seen. */
    private record Candidate(LiveSession session, State state) {
        private static final int UNUSED = 0;

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

    Capacity(LiveSessions live, NodeLimits limits) {
        this.live = live;
        this.limits = limits;
    }

    /** Takes the place of one session, evicting another where none is free; says why there is none. */
    Optional<Refusal> take(String principal) {
        if (!takeOf(principal)) {
            return Optional.of(Refusal.PRINCIPAL_SESSIONS);
        }
        if (!takeOne()) {
            releaseOf(principal);
            return Optional.of(Refusal.SESSIONS);
        }
        return Optional.empty();
    }

    /** Why there would be no place for one more now, if there would be none; nobody goes for this. */
    Optional<Refusal> wouldRefuse(String principal) {
        boolean own = principal.isEmpty()
                || ofPrincipals.getOrDefault(principal, 0) < limits.principalSessions()
                || canEvict(session -> session.principal().equals(principal), limits.principalSessions());
        if (!own) {
            return Optional.of(Refusal.PRINCIPAL_SESSIONS);
        }
        boolean room = taken.get() < limits.sessions() || canEvict(session -> true, limits.sessions());
        return room ? Optional.empty() : Optional.of(Refusal.SESSIONS);
    }

    /**
     * Ends a session of a principal that nobody uses, also where it could wait in the store; completes with its name when it has left
     * memory, empty if all are in use. One that is on its way into the store is waited for, and no other ends.
     */
    CompletionStage<Optional<SessionKey>> endOne(String principal) {
        Predicate<LiveSession> own = session -> session.principal().equals(principal);
        Optional<LiveSession> leaving = live.all().stream()
                .filter(session ->
                        own.test(session) && session.lifecycle().state().end() == EndReason.PARKED)
                .findFirst();
        // a client that reads on another node uses the backend that is here
        return leaving.or(() -> endOne(own.and(session -> !session.listening())))
                .<CompletionStage<Optional<SessionKey>>>map(session -> session.end()
                        .gone()
                        .handle((gone, failure) ->
                                failure == null ? Optional.of(session.key()) : Optional.<SessionKey>empty()))
                .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty()));
    }

    private Optional<LiveSession> endOne(Predicate<LiveSession> whose) {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Optional<Candidate> next = choose(whose, limits.principalSessions());
            if (next.isEmpty() || next.get().end()) {
                return next.map(Candidate::session);
            }
        }
        return Optional.empty();
    }

    void release(String principal) {
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
                if (!evict(session -> true, limits.sessions())) {
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
            if (!evict(session -> session.principal().equals(principal), limits.principalSessions())) {
                return false;
            }
        }
        return true;
    }

    private void releaseOf(String principal) {
        if (!principal.isEmpty()) {
            ofPrincipals.computeIfPresent(principal, (who, count) -> count == 1 ? null : count - 1);
        }
    }

    /**
     * @param cap how many of those there may be
     */
    private boolean evict(Predicate<LiveSession> whose, int cap) {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Optional<Candidate> next = choose(whose, cap);
            if (next.isEmpty()) {
                return false;
            }
            if (next.get().evict()) {
                return true;
            }
        }
        return false;
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
        for (LiveSession session : live.all()) {
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
}
