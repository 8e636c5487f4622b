package dev.holdfast.tck;

import dev.holdfast.cluster.ClusterBus;
import dev.holdfast.cluster.ClusterNodes;
import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.ClusterSupport;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store that the engines of one JVM share, as the nodes of a cluster share one over the network: for tests of what runs on many
 * nodes. Its sessions are lost with the process. Give the same object to each engine; closing it removes everything. Every stage is
 * complete when it is returned.
 */
public final class MemoryCluster implements SharedSessionStore {
    // the cluster outlives each of its engines, as a store over the network does
    private static final Promise PROMISE = new Promise(Durability.PROCESS_DEATH, true);
    private static final Logger logger = LoggerFactory.getLogger(MemoryCluster.class);
    private static final long PURGE_MILLIS = 60_000;

    private final Map<SessionKey, MemorySession> sessions = new ConcurrentHashMap<>();
    private final Map<SessionKey, List<Runnable>> tails = new ConcurrentHashMap<>();
    /** Until when the sessions of each principal count; the inner maps are changed inside the outer one. */
    private final Map<String, Map<SessionKey, Long>> counted = new ConcurrentHashMap<>();

    private final AtomicLong nextPurge = new AtomicLong();
    private final InstantSource clock;
    private final Executor executor;
    private final Bus bus = new Bus();

    /** Follows an {@link ExpiryClock} of the system's clocks; hands over hints and messages on the common pool. */
    public MemoryCluster() {
        this(new ExpiryClock(), ForkJoinPool.commonPool());
    }

    /**
     * Follows a clock of the caller's.
     *
     * @param clock by which sessions expire and leases lapse
     * @param executor hands over hints and messages
     */
    public MemoryCluster(InstantSource clock, Executor executor) {
        this.clock = Objects.requireNonNull(clock, "clock");
        this.executor = Objects.requireNonNull(executor, "executor");
    }

    @Override
    public Promise promise() {
        return PROMISE;
    }

    @Override
    public Optional<InstantSource> clock() {
        return Optional.of(clock);
    }

    @Override
    public Optional<ClusterSupport> cluster() {
        return Optional.of(ClusterNodes.sharing(this));
    }

    @Override
    public ClusterBus bus() {
        return bus;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record, String node) {
        purge();
        MemorySession fresh = new MemorySession(epoch, record, node);
        return sessions.merge(key, fresh, (old, now) -> expired(old) ? now : old) == fresh
                ? CompletableFuture.completedFuture(null)
                : CompletableFuture.failedFuture(new IllegalStateException("the session exists"));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        return enter(key, session -> session.claim(nonce));
    }

    @Override
    public CompletionStage<Optional<Joined>> join(SessionKey key, int nonce, String node) {
        return enter(key, session -> session.join(nonce, node));
    }

    /** Inside the map, so that no deletion comes between. */
    private <T> CompletionStage<Optional<T>> enter(SessionKey key, Function<MemorySession, T> how) {
        AtomicReference<Optional<T>> entered = new AtomicReference<>(Optional.empty());
        sessions.computeIfPresent(key, (name, session) -> {
            entered.setPlain(expired(session) ? Optional.empty() : Optional.of(how.apply(session)));
            return session;
        });
        return CompletableFuture.completedFuture(entered.getPlain());
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return ask(key, MemorySession::look);
    }

    @Override
    public CompletionStage<Boolean> fence(SessionKey key, Epoch epoch) {
        return ask(key, session -> session.fence(epoch)).thenApply(fenced -> fenced.orElse(false));
    }

    @Override
    public CompletionStage<List<Member>> members(SessionKey key) {
        return ask(key, MemorySession::members).thenApply(members -> members.orElse(List.of()));
    }

    @Override
    public CompletionStage<Appended> commit(SessionKey key, Epoch epoch, long number, Append append) {
        return demand(key, session -> {
            Appended appended = session.commit(epoch, number, append);
            hint(key);
            return appended;
        });
    }

    @Override
    public CompletionStage<Long> token(
            SessionKey key, Epoch epoch, StreamId stream, Part part, long expected, long token) {
        return demand(key, session -> session.token(epoch, stream, part, expected, token));
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return ask(key, session -> session.read(stream, after, maxBytes)).thenApply(found -> found.orElse(List.of()));
    }

    /** Loses the events of a session, and not its record, as a store may that evicts or is damaged. */
    public void loseEvents(SessionKey key) {
        find(key).ifPresent(MemorySession::loseEvents);
    }

    @Override
    public CompletionStage<List<Member>> remove(SessionKey key) {
        MemorySession removed = sessions.remove(key);
        hint(key);
        return CompletableFuture.completedFuture(removed == null || expired(removed) ? List.of() : removed.members());
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        MemorySession stays = sessions.computeIfPresent(
                key, (name, session) -> expired(session) || session.ownedUnder(epoch) ? null : session);
        hint(key);
        return CompletableFuture.completedFuture(stays == null);
    }

    @Override
    public CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        AtomicReference<Counted> answer = new AtomicReference<>(new Counted(true, List.of()));
        counted.compute(principal, (who, before) -> {
            Map<SessionKey, Long> sessions = before == null ? new HashMap<>() : before;
            sessions.values().removeIf(time -> time <= clock.millis());
            if (sessions.containsKey(key) || sessions.size() < most) {
                sessions.merge(key, until, Math::max);
            } else {
                answer.setPlain(new Counted(false, first(sessions)));
            }
            return sessions;
        });
        return CompletableFuture.completedFuture(answer.getPlain());
    }

    private static List<SessionKey> first(Map<SessionKey, Long> sessions) {
        return sessions.entrySet().stream()
                .sorted(Map.Entry.comparingByValue())
                .limit(COUNTED_TOLD)
                .map(Map.Entry::getKey)
                .toList();
    }

    @Override
    public CompletionStage<Void> uncount(String principal, SessionKey key) {
        counted.computeIfPresent(principal, (who, sessions) -> {
            sessions.remove(key);
            return sessions.isEmpty() ? null : sessions;
        });
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public Tail tail(SessionKey key, Runnable hinted) {
        // an object of its own for each tail: of two equal callbacks each is removed by itself
        Runnable own = () -> executor.execute(hinted);
        tails.computeIfAbsent(key, name -> new CopyOnWriteArrayList<>()).add(own);
        return () -> tails.computeIfPresent(key, (name, all) -> {
            all.remove(own);
            return all.isEmpty() ? null : all;
        });
    }

    private void hint(SessionKey key) {
        tails.getOrDefault(key, List.of()).forEach(Runnable::run);
    }

    @Override
    public void close() {
        sessions.clear();
        tails.clear();
        counted.clear();
        bus.close();
    }

    /** Asks a session; empty if there is none. */
    private <T> CompletionStage<Optional<T>> ask(SessionKey key, Function<MemorySession, T> question) {
        return CompletableFuture.completedFuture(find(key).map(question));
    }

    private Optional<MemorySession> find(SessionKey key) {
        return Optional.ofNullable(sessions.get(key)).filter(kept -> !expired(kept));
    }

    /** Asks a session that has to be there. */
    private <T> CompletionStage<T> demand(SessionKey key, Function<MemorySession, T> question) {
        try {
            MemorySession session = find(key).orElseThrow(() -> new IllegalStateException("no such session"));
            return CompletableFuture.completedFuture(question.apply(session));
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Once a minute, the creation of a session removes the expired ones: the store has no threads of its own. */
    private void purge() {
        long now = clock.millis();
        long due = nextPurge.get();
        if (now >= due && nextPurge.compareAndSet(due, now + PURGE_MILLIS)) {
            sessions.values().removeIf(this::expired);
        }
    }

    /** How many sessions take space. */
    int size() {
        return sessions.size();
    }

    private boolean expired(MemorySession session) {
        return session.expiresAt() <= clock.millis();
    }

    /** The bus; its own monitor guards it, and no handler is called inside. */
    private final class Bus implements ClusterBus {
        private final Map<String, Incarnation> incarnations = new HashMap<>();

        /** One life of a node, which may have lapsed. */
        private static final class Incarnation {
            private final Queue<byte[]> inbox = new ArrayDeque<>();
            private long inboxBytes;
            private long until;
            private @Nullable Consumer<byte[]> handler;
            private boolean handing;
        }

        private @Nullable Incarnation alive(String node) {
            Incarnation found = incarnations.get(node);
            return found != null && found.until > clock.millis() ? found : null;
        }

        @Override
        public synchronized CompletionStage<Void> begin(String node, Duration lease) {
            if (alive(node) != null) {
                return CompletableFuture.failedFuture(new IllegalStateException(node + " lives already"));
            }
            incarnations.values().removeIf(lapsed -> lapsed.until <= clock.millis());
            Incarnation fresh = new Incarnation();
            fresh.until = clock.millis() + lease.toMillis();
            incarnations.put(node, fresh);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public synchronized CompletionStage<Boolean> renew(String node, Duration lease) {
            Incarnation found = alive(node);
            if (found != null) {
                found.until = clock.millis() + lease.toMillis();
            }
            return CompletableFuture.completedFuture(found != null);
        }

        @Override
        public synchronized CompletionStage<Void> end(String node) {
            incarnations.remove(node);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public synchronized CompletionStage<Set<String>> living() {
            Set<String> living = new TreeSet<>(incarnations.keySet());
            living.removeIf(node -> alive(node) == null);
            return CompletableFuture.completedFuture(living);
        }

        @Override
        public CompletionStage<Boolean> send(String node, byte[] message) {
            synchronized (this) {
                Incarnation found = alive(node);
                if (found == null || found.inbox.size() >= INBOX_MESSAGES || found.inboxBytes >= INBOX_BYTES) {
                    return CompletableFuture.completedFuture(false);
                }
                found.inbox.add(message);
                found.inboxBytes += message.length;
            }
            handOver(node);
            return CompletableFuture.completedFuture(true);
        }

        @Override
        public Inbox receive(String node, Consumer<byte[]> handler) {
            synchronized (this) {
                Incarnation found = alive(node);
                if (found != null) {
                    found.handler = handler;
                }
            }
            handOver(node);
            return () -> stop(node, handler);
        }

        private synchronized void stop(String node, Consumer<byte[]> handler) {
            Incarnation found = incarnations.get(node);
            if (found != null && found.handler == handler) {
                found.handler = null;
            }
        }

        /** Lets one task hand over what is there, unless one does. */
        private void handOver(String node) {
            synchronized (this) {
                Incarnation found = alive(node);
                if (found == null || found.handing || found.handler == null) {
                    return;
                }
                found.handing = true;
            }
            executor.execute(() -> {
                boolean more = true;
                while (more) {
                    more = handOverNext(node);
                }
            });
        }

        /** False if there is nothing to hand over now. */
        private boolean handOverNext(String node) {
            Consumer<byte[]> handler;
            byte[] message;
            synchronized (this) {
                Incarnation found = alive(node);
                if (found == null) {
                    return false;
                }
                handler = found.handler;
                message = handler == null ? null : found.inbox.poll();
                if (handler == null || message == null) {
                    found.handing = false;
                    return false;
                }
                found.inboxBytes -= message.length;
            }
            try {
                handler.accept(message);
            } catch (Throwable e) {
                logger.error("a message could not be handled", e);
            }
            return true;
        }

        private synchronized void close() {
            incarnations.clear();
        }
    }
}
