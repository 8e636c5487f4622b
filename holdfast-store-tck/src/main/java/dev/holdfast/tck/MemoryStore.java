package dev.holdfast.tck;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Keeps sessions in this JVM's heap, beside what their engine has of them; they are lost with the process. For tests of what stands on
 * a store: an engine alone needs none. Every stage is complete when it is returned.
 */
public final class MemoryStore implements SessionStore {
    private static final Promise PROMISE = new Promise(Durability.NOTHING, false);
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);
    private static final long PURGE_MILLIS = 60_000;

    private final Map<SessionKey, MemorySession> sessions = new ConcurrentHashMap<>();
    private final InstantSource clock;
    private final AtomicLong nextPurge = new AtomicLong();

    /** Follows an {@link ExpiryClock} of the system's clocks. */
    public MemoryStore() {
        this(new ExpiryClock());
    }

    /** Follows a clock of the caller's, by which sessions expire. */
    public MemoryStore(InstantSource clock) {
        this.clock = Objects.requireNonNull(clock, "clock");
    }

    @Override
    public Promise promise() {
        return PROMISE;
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        purge();
        MemorySession fresh = new MemorySession(epoch, record);
        MemorySession kept = sessions.merge(key, fresh, (old, now) -> expired(old) ? now : old);
        return kept == fresh ? DONE : CompletableFuture.failedFuture(new IllegalStateException("the session exists"));
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        AtomicReference<Optional<Claim>> claimed = new AtomicReference<>(Optional.empty());
        // inside the map, so that no deletion comes between
        sessions.computeIfPresent(key, (name, session) -> {
            claimed.setPlain(expired(session) ? Optional.empty() : Optional.of(session.claim(nonce)));
            return session;
        });
        return CompletableFuture.completedFuture(claimed.getPlain());
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return CompletableFuture.completedFuture(find(key).map(MemorySession::look));
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        MemorySession kept = sessions.get(key);
        if (kept == null || expired(kept)) {
            return CompletableFuture.failedFuture(new IllegalStateException("no such session"));
        }
        Epoch present = kept.append(epoch, append);
        return present.equals(epoch) ? DONE : CompletableFuture.failedFuture(new StaleEpochException(epoch, present));
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        Optional<MemorySession> kept = find(key);
        return CompletableFuture.completedFuture(
                kept.map(session -> session.read(stream, after, maxBytes)).orElse(List.of()));
    }

    /** Loses the events of a session, and not its record, as a store may that evicts or is damaged. */
    public void loseEvents(SessionKey key) {
        find(key).ifPresent(MemorySession::loseEvents);
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        sessions.remove(key);
        return DONE;
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        MemorySession stays = sessions.computeIfPresent(
                key, (name, session) -> expired(session) || session.ownedUnder(epoch) ? null : session);
        return CompletableFuture.completedFuture(stays == null);
    }

    @Override
    public void close() {
        sessions.clear();
    }

    /** How many sessions take space. */
    int size() {
        return sessions.size();
    }

    private Optional<MemorySession> find(SessionKey key) {
        return Optional.ofNullable(sessions.get(key)).filter(session -> !expired(session));
    }

    private boolean expired(MemorySession session) {
        return session.expiresAt() <= clock.millis();
    }

    /** Once in a while, whoever creates a session takes the expired ones away: a store without threads of its own. */
    private void purge() {
        long now = clock.millis();
        long due = nextPurge.get();
        if (now >= due && nextPurge.compareAndSet(due, now + PURGE_MILLIS)) {
            sessions.values().removeIf(this::expired);
        }
    }
}
