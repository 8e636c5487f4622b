package dev.holdfast;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The way of a session's messages into its store: an outbox that is filled under the session's lock, and one drainer at a time
 * that hands batches to the store without it. What the store has acknowledged is committed in order.
 *
 * <p>A failed append leaves the log's end unknown. From then on everything is refused until a new epoch is claimed: the claim
 * tells whether the doubtful batch is in the log, and fences it if it is still on its way.
 *
 * <pre>
 *   UNNAMED -> RESTING                       the session's key is known, its record created
 *   RESTING -> APPENDING -> RESTING          one batch at a time
 *              APPENDING -> CLAIMING -> RESTING
 *   any -> CLOSED
 * </pre>
 */
final class SessionLog {
    private enum State {
        UNNAMED,
        RESTING,
        APPENDING,
        CLAIMING,
        CLOSED
    }

    /** What the session does when entries are decided; called under the lock. */
    interface Owner {
        void committed(Entry entry, Effects effects);

        /** The store does not have it: newest first. */
        void refused(Entry entry, Effects effects);

        /** The log cannot go on before a claim; call {@link #claim} without the lock. */
        void doubtful(Throwable failure, Effects effects);

        /** The log goes on. */
        void recovered();
    }

    /** The stage of everything that is committed already. */
    static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final ReentrantLock lock;
    private final SessionStore store;
    private final Owner owner;

    private final List<Epoch> epochs;
    private final int certainFrom;
    private @Nullable SessionKey key;
    private State state = State.UNNAMED;
    private List<Entry> outbox = new ArrayList<>(1);
    private List<Append.Trim> trims = new ArrayList<>(0);
    private List<Entry> current = List.of();
    private @Nullable Throwable doubt;
    private boolean leaving;

    SessionLog(ReentrantLock lock, SessionStore store, Origin origin, Owner owner) {
        this.lock = lock;
        this.store = store;
        this.owner = owner;
        this.epochs = new ArrayList<>(origin.epochs());
        this.certainFrom = origin.certainFrom();
    }

    /** The store knows the session under this key from now on; under the lock. Then {@link #drain} without it. */
    void start(SessionKey name) {
        key = name;
        if (state == State.UNNAMED) {
            state = State.RESTING;
        }
    }

    private SessionKey key() {
        return Objects.requireNonNull(key, "the log has not started");
    }

    /** The epoch that new events get; under the lock. */
    Epoch epoch() {
        return epochs.get(epochs.size() - 1);
    }

    /** Whether this session ever had that epoch; under the lock. */
    boolean had(Epoch epoch) {
        return epochs.contains(epoch);
    }

    /** Whether something may have been lost after an event of that epoch, without a trace; under the lock. */
    boolean doubts(Epoch epoch) {
        return epoch.counter() < certainFrom;
    }

    /** Whether new entries are taken; under the lock. */
    boolean open() {
        return !leaving && (state == State.UNNAMED || state == State.RESTING || state == State.APPENDING);
    }

    /** Whether the store knows the session; under the lock. */
    boolean started() {
        return state != State.UNNAMED;
    }

    /** Whether nothing is on its way, or waits to be; under the lock. */
    boolean resting() {
        return state == State.RESTING && outbox.isEmpty();
    }

    /** Whether the store has answered whatever it was given; under the lock. */
    boolean answered() {
        return state == State.RESTING;
    }

    /** Whether nothing will ever be taken again; under the lock. */
    boolean closed() {
        return state == State.CLOSED;
    }

    /** Puts an entry into the outbox; under the lock, while {@link #open}. Then {@link #drain} without it. */
    void enqueue(Entry entry) {
        outbox.add(entry);
    }

    /** Lets the store forget an event with the next append; under the lock. */
    void trim(Node node) {
        trims.add(new Append.Trim(node.stream.id(), node.event.offset()));
    }

    /** Lets the store forget now what waits for the next append; under the lock. Then {@link #drain} without it. */
    void flush() {
        if (!trims.isEmpty() && outbox.isEmpty() && open()) {
            enqueue(Entry.of(List.of()));
        }
    }

    /** A change of the record that is made sooner or later, whatever the store does; under the lock. Then {@link #drain}. */
    void insist(List<RecordChange> changes) {
        enqueue(new Entry(null, changes, null, () -> insist(changes)));
    }

    /** The last changes of the record: nothing is taken behind them. Under the lock, while {@link #open}. Then {@link #drain}. */
    void leave(List<RecordChange> changes) {
        insist(changes);
        leaving = true;
    }

    /** Completes when what is on its way is decided; without the lock. */
    CompletionStage<Void> settled() {
        List<Entry> onItsWay = List.of();
        lock.lock();
        try {
            // what rests here is about to be appended by whoever has just ended the append before
            if (state == State.APPENDING || state == State.RESTING) {
                onItsWay = outbox.isEmpty() ? current : outbox;
            }
        } finally {
            lock.unlock();
        }
        return onItsWay.isEmpty() ? DONE : stageOf(onItsWay.get(onItsWay.size() - 1));
    }

    /** Completes when the entry is committed, and fails if it is refused. */
    CompletionStage<Void> stageOf(Entry entry) {
        if (entry.committed) {
            return DONE;
        }
        lock.lock();
        try {
            if (entry.committed) {
                return DONE;
            }
            if (entry.stage == null) {
                entry.stage = new CompletableFuture<>();
                if (entry.failure != null) {
                    entry.stage.completeExceptionally(entry.failure);
                }
            }
            return entry.stage;
        } finally {
            lock.unlock();
        }
    }

    /** Appends what is in the outbox, unless somebody else is at it. Without the lock. */
    void drain() {
        while (true) {
            Append append;
            Epoch epoch;
            lock.lock();
            try {
                if (state != State.RESTING || outbox.isEmpty()) {
                    return;
                }
                state = State.APPENDING;
                current = outbox;
                outbox = new ArrayList<>(1);
                append = Entry.append(current, trims);
                if (!trims.isEmpty()) {
                    trims = new ArrayList<>(0);
                }
                epoch = epoch();
            } finally {
                lock.unlock();
            }
            CompletableFuture<Void> stage = start(epoch, append);
            if (!stage.isDone()) {
                stage.whenComplete((done, failure) -> {
                    finish(append, Optional.ofNullable(failure));
                    drain();
                });
                return;
            }
            finish(append, failureOf(stage));
        }
    }

    private CompletableFuture<Void> start(Epoch epoch, Append append) {
        try {
            return store.append(key(), epoch, append).toCompletableFuture();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static Optional<Throwable> failureOf(CompletableFuture<Void> done) {
        return done.isCompletedExceptionally()
                ? done.handle((nothing, failure) -> Optional.of(failure)).join()
                : Optional.empty();
    }

    private void finish(Append append, Optional<Throwable> failure) {
        Effects effects = new Effects();
        lock.lock();
        try {
            if (state == State.CLOSED) {
                return;
            }
            if (failure.isEmpty()) {
                state = State.RESTING;
                commit(effects);
            } else {
                state = State.CLAIMING;
                doubt = failure.get();
                trims.addAll(append.trims());
                List<Entry> behind = outbox;
                outbox = new ArrayList<>(1);
                refuse(behind, effects);
                owner.doubtful(failure.get(), effects);
            }
        } finally {
            lock.unlock();
        }
        effects.run();
    }

    /** The store has the current batch. Readers are woken before producers, who may do much on this thread. */
    private void commit(Effects effects) {
        List<Entry> batch = current;
        current = List.of();
        for (Entry entry : batch) {
            entry.committed = true;
            owner.committed(entry, effects);
        }
        complete(batch, effects);
    }

    private static void complete(List<Entry> entries, Effects effects) {
        for (Entry entry : entries) {
            CompletableFuture<Void> stage = entry.stage;
            if (stage != null) {
                effects.add(() -> stage.complete(null));
            }
        }
    }

    private void refuse(List<Entry> entries, Effects effects) {
        Throwable failure = Objects.requireNonNull(doubt, "nothing has failed");
        List<Entry> newestFirst = new ArrayList<>(entries);
        Collections.reverse(newestFirst);
        for (Entry entry : newestFirst) {
            entry.failure = failure;
            owner.refused(entry, effects);
        }
        fail(entries, failure, effects);
    }

    private static void fail(List<Entry> entries, Throwable failure, Effects effects) {
        for (Entry entry : entries) {
            CompletableFuture<Void> stage = entry.stage;
            if (stage != null) {
                effects.add(() -> stage.completeExceptionally(failure));
            }
        }
    }

    /**
     * Claims a new epoch and decides the doubtful batch by what the log then holds.
     *
     * @param nonce the random half of that epoch
     * @return completes when the log goes on, false if the store does not have it any more; fails if the store could not be
     *     asked, and may then be called again
     */
    CompletionStage<Boolean> claim(int nonce) {
        CompletionStage<Optional<SessionStore.Claim>> claim;
        try {
            claim = store.claim(key(), nonce);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        return claim.thenApply(found -> {
            Effects effects = new Effects();
            boolean goesOn;
            lock.lock();
            try {
                if (state == State.CLAIMING && found.isPresent()) {
                    decide(found.get(), effects);
                }
                goesOn = state != State.CLAIMING;
            } finally {
                lock.unlock();
            }
            effects.run();
            drain();
            return goesOn;
        });
    }

    /** Nobody shall wait any longer for what is in doubt, though it may yet turn out to be in the log. Under the lock. */
    void dismissWaiting(Effects effects) {
        fail(current, Objects.requireNonNull(doubt, "nothing has failed"), effects);
    }

    private void decide(SessionStore.Claim claim, Effects effects) {
        epochs.add(claim.epoch());
        if (epochs.size() > SessionStore.EPOCHS_KEPT + 1) {
            epochs.remove(0);
        }
        state = State.RESTING;
        if (Entry.inLog(current, claim)) {
            commit(effects);
        } else {
            List<Entry> batch = current;
            current = List.of();
            refuse(batch, effects);
        }
        owner.recovered();
    }

    /**
     * Takes no more entries; under the lock. The stages of those on their way complete, though nobody will read them; of what is
     * in doubt nobody shall believe that it is in the log.
     */
    void close(Effects effects) {
        if (state == State.CLOSED) {
            return;
        }
        List<Entry> left = new ArrayList<>(current);
        left.addAll(outbox);
        if (state == State.CLAIMING) {
            Throwable failure = Objects.requireNonNull(doubt, "nothing has failed");
            left.forEach(entry -> entry.failure = failure);
            fail(left, failure, effects);
        } else {
            left.forEach(entry -> entry.committed = true);
            complete(left, effects);
        }
        state = State.CLOSED;
        current = List.of();
        outbox = new ArrayList<>(0);
        trims = new ArrayList<>(0);
    }
}
