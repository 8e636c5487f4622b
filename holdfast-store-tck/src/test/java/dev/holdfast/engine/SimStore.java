package dev.holdfast.engine;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import dev.holdfast.tck.MemoryStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * A store whose operations take as long as the simulation likes, fail before or after they have happened, or happen after they
 * have failed.
 */
final class SimStore implements SessionStore {
    final MemoryStore kept;
    private final Map<SessionKey, SimSession> owners = new HashMap<>();
    private final List<Operation<?>> pending = new ArrayList<>();
    private final List<Operation<?>> late = new ArrayList<>();
    private final Random random;
    private final List<SimSession> sessions;
    private final Durability durability;
    private int promptPercent;
    private int failingPercent;

    /**
     * @param promptPercent how many operations are done at once
     * @param failingPercent how many fail
     */
    SimStore(
            VirtualTime time,
            Random random,
            List<SimSession> sessions,
            Durability durability,
            int promptPercent,
            int failingPercent) {
        this.durability = durability;
        this.kept = new MemoryStore(new ExpiryClock(time, time));
        this.random = random;
        this.sessions = sessions;
        this.promptPercent = promptPercent;
        this.failingPercent = failingPercent;
    }

    private final class Operation<T> {
        private final boolean mayFail;
        private final Supplier<CompletionStage<T>> effect;
        private final Runnable acked;
        private final CompletableFuture<T> stage = new CompletableFuture<>();

        Operation(boolean mayFail, Supplier<CompletionStage<T>> effect, Runnable acked) {
            this.mayFail = mayFail;
            this.effect = effect;
            this.acked = acked;
        }

        void decide() {
            if (mayFail && random.nextInt(100) < failingPercent) {
                fail();
                return;
            }
            CompletableFuture<T> happened = happen();
            if (happened.isCompletedExceptionally()) {
                stage.completeExceptionally(new IllegalStateException("the store refuses"));
            } else {
                acked.run();
                stage.complete(happened.join());
            }
        }

        CompletableFuture<T> happen() {
            return effect.get().toCompletableFuture();
        }

        private void fail() {
            switch (random.nextInt(3)) {
                case 0 -> late.add(this);
                case 1 -> happen();
                default -> {}
            }
            stage.completeExceptionally(new IllegalStateException("the store is away"));
        }
    }

    private <T> CompletionStage<T> submit(boolean mayFail, Supplier<CompletionStage<T>> effect, Runnable acked) {
        Operation<T> operation = new Operation<>(mayFail, effect, acked);
        if (random.nextInt(100) < promptPercent) {
            operation.decide();
        } else {
            pending.add(operation);
        }
        return operation.stage;
    }

    /** Decides something that waits, or lets something happen that has failed long ago. False if there is nothing. */
    boolean step() {
        if (!late.isEmpty() && random.nextInt(3) == 0) {
            late.remove(random.nextInt(late.size())).happen();
            return true;
        }
        if (pending.isEmpty()) {
            return false;
        }
        pending.remove(random.nextInt(pending.size())).decide();
        return true;
    }

    /** From here on everything is done at once and well. */
    void heal() {
        failingPercent = 0;
        promptPercent = 100;
        while (!pending.isEmpty()) {
            pending.remove(0).decide();
        }
        late.forEach(Operation::happen);
        late.clear();
    }

    /** Who asked is gone: what was on its way happens, now or later, or never does. What is not fenced is not late. */
    void died() {
        for (Operation<?> operation : pending) {
            switch (random.nextInt(operation.mayFail ? 3 : 2)) {
                case 0 -> operation.happen();
                case 1 -> {}
                default -> late.add(operation);
            }
        }
        pending.clear();
    }

    /** Whether an append or a claim of this session is on its way, or has to come. */
    boolean busy(SimSession session) {
        return session.operations > 0 || session.doubtful;
    }

    /** Whether anything of a session is still there. */
    boolean has(SimSession session) {
        return owners.entrySet().stream()
                .filter(owner -> owner.getValue() == session)
                .anyMatch(owner -> kept.claim(owner.getKey(), 0)
                        .toCompletableFuture()
                        .join()
                        .isPresent());
    }

    @Override
    public Promise promise() {
        return new Promise(durability, false);
    }

    @Override
    public CompletionStage<Void> create(SessionKey key, Epoch epoch, SessionRecord record) {
        byte[] initialize = record.journal().get(SessionRecord.INITIALIZE);
        String named = initialize == null ? record.principal() : Wire.text(initialize);
        SimSession owner = sessions.get(SimSession.number(named));
        owners.put(key, owner);
        return submit(
                false,
                () -> {
                    owner.stored = true;
                    owner.expiresAt = record.expiresAt();
                    return kept.create(key, epoch, record);
                },
                () -> {});
    }

    @Override
    public CompletionStage<Optional<Claim>> claim(SessionKey key, int nonce) {
        SimSession owner = owners.get(key);
        if (owner == null) {
            return kept.claim(key, nonce);
        }
        CompletableFuture<Optional<Claim>> taken = new CompletableFuture<>();
        Supplier<CompletionStage<Optional<Claim>>> effect = () -> {
            CompletionStage<Optional<Claim>> claim = kept.claim(key, nonce);
            claim.thenAccept(taken::complete);
            return claim;
        };
        return counted(
                owner,
                () -> submit(true, effect, () -> {
                    owner.acked();
                    owner.doubtful = false;
                    taken.join().filter(claim -> owner.away(key)).ifPresent(owner::returns);
                }));
    }

    private static <T> CompletionStage<T> counted(SimSession owner, Supplier<CompletionStage<T>> operation) {
        owner.operations++;
        // the engine learns of it after the simulation
        return operation.get().whenComplete((done, failure) -> {
            owner.operations--;
            owner.doubtful |= failure != null;
        });
    }

    @Override
    public CompletionStage<Optional<Look>> look(SessionKey key) {
        return submit(true, () -> kept.look(key), () -> {});
    }

    @Override
    public CompletionStage<Void> append(SessionKey key, Epoch epoch, Append append) {
        SimSession owner = owner(key);
        Supplier<CompletionStage<Void>> effect = () -> {
            CompletionStage<Void> done = kept.append(key, epoch, append);
            if (!done.toCompletableFuture().isCompletedExceptionally()) {
                owner.log.applied(append);
                owner.stored(append.changes());
            }
            return done;
        };
        return counted(owner, () -> submit(true, effect, owner::acked));
    }

    private SimSession owner(SessionKey key) {
        SimSession owner = owners.get(key);
        if (owner == null) {
            throw new AssertionError("a session that was never created");
        }
        return owner;
    }

    @Override
    public CompletionStage<List<Event>> read(SessionKey key, StreamId stream, long after, int maxBytes) {
        return random.nextInt(10) > 0
                ? kept.read(key, stream, after, maxBytes)
                : submit(true, () -> kept.read(key, stream, after, maxBytes), () -> {});
    }

    @Override
    public CompletionStage<Void> delete(SessionKey key) {
        SimSession owner = owner(key);
        return submit(
                false,
                () -> {
                    owner.stored = false;
                    return kept.delete(key);
                },
                () -> {});
    }

    @Override
    public CompletionStage<Boolean> delete(SessionKey key, Epoch epoch) {
        throw new AssertionError("nobody shares this store");
    }

    @Override
    public void close() {
        kept.close();
    }
}
