package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The door of a session, and its way into the store. All that changes a session happens inside a {@link #step}: the lock is taken,
 * a decision made, the lock released, and then what the decision causes is done: its effects, in order, then the append of what
 * stands in the outbox. Nothing else takes the lock, and nothing that blocks, waits or calls somebody else happens inside.
 */
public final class SessionLog {
    /** The stage of everything that is committed already. */
    public static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final Object lock = new Object();
    private final SessionStore store;
    private final Optional<Commits> commits;
    private final Consumer<EndReason> end;
    private final Epochs epochs;
    private final Outbox outbox;
    private @Nullable SessionKey key;

    /**
     * @param end ends the session, outside of a step
     */
    public SessionLog(SessionStore store, Epochs epochs, Consumer<EndReason> end) {
        this.store = store;
        this.end = end;
        this.epochs = epochs;
        this.commits = Commits.into(store);
        this.outbox = new Outbox(epochs, Keeping.by(store));
    }

    /** Used inside a step. */
    public Outbox outbox() {
        return outbox;
    }

    /** Used inside a step. */
    public Epochs epochs() {
        return epochs;
    }

    /** Makes a decision, then does what it causes. */
    public <T> T step(Function<Effects, T> decision) {
        Effects effects = new Effects();
        Turn turn;
        T result;
        synchronized (lock) {
            result = decision.apply(effects);
            turn = outbox.conclude(effects);
        }
        perform(effects, turn);
        return result;
    }

    /** The same for a decision that nobody has to hear of. */
    public void run(Consumer<Effects> decision) {
        step(effects -> {
            decision.accept(effects);
            return DONE;
        });
    }

    /** Looks at something that steps change; nothing is changed, and nothing caused. */
    public <T> T look(Supplier<T> question) {
        synchronized (lock) {
            return question.get();
        }
    }

    /**
     * Does what a step causes, and what follows from that, on this thread as long as the store answers at once. What waits in the
     * outbox is taken after the effects, if there are any: a producer that is told there, and sends more and waits for it, appends it
     * itself.
     */
    private void perform(Effects effects, Turn turn) {
        Effects present = effects;
        Turn next = turn;
        while (true) {
            present.perform(end);
            if (next == Turn.Wait.LATER) {
                next = look(outbox::next);
            }
            if (next instanceof Turn.Renewal renewal) {
                renew(renewal);
                return;
            }
            if (!(next instanceof Turn.Batch batch)) {
                return;
            }
            CompletableFuture<Void> stage = append(batch);
            if (!stage.isDone()) {
                stage.whenComplete((done, failure) -> decided(failure));
                return;
            }
            present = new Effects();
            next = decide(failureOf(stage), present);
        }
    }

    private void decided(@Nullable Throwable failure) {
        Effects effects = new Effects();
        perform(effects, decide(failure, effects));
    }

    /** Decides what was appended; returns what is to be next. */
    private Turn decide(@Nullable Throwable failure, Effects effects) {
        synchronized (lock) {
            outbox.decided(causeOf(failure), effects);
            return outbox.conclude(effects);
        }
    }

    private CompletableFuture<Void> append(Turn.Batch batch) {
        try {
            return commits.isPresent()
                    ? commits.get().append(key(), batch)
                    : store.append(key(), batch.epoch(), batch.append()).toCompletableFuture();
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static @Nullable Throwable failureOf(CompletableFuture<Void> done) {
        return done.isCompletedExceptionally()
                ? done.<@Nullable Throwable>handle((nothing, failure) -> failure)
                        .join()
                : null;
    }

    private static @Nullable Throwable causeOf(@Nullable Throwable failure) {
        return failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
    }

    /** The store knows the session under this key from now on. */
    public void start(SessionKey name) {
        run(effects -> {
            key = name;
            outbox.start();
        });
    }

    private SessionKey key() {
        return Objects.requireNonNull(key, "the log has not started");
    }

    /** Completes when the entry is committed, and fails if it is refused. */
    public CompletionStage<Void> stageOf(Pending pending) {
        return pending.committed ? DONE : look(() -> stage(pending));
    }

    private static CompletionStage<Void> stage(Pending pending) {
        if (pending.committed) {
            return DONE;
        }
        CompletableFuture<Void> stage = pending.stage;
        if (stage == null) {
            stage = new CompletableFuture<>();
            pending.stage = stage;
            if (pending.failure != null) {
                stage.completeExceptionally(pending.failure);
            }
        }
        return stage;
    }

    /** Completes when what is on its way is decided. */
    public CompletionStage<Void> settled() {
        return step(effects -> {
            outbox.hurry();
            Pending last = outbox.last();
            return last == null ? DONE : stage(last);
        });
    }

    /** Completes when what is on its way is decided; fails when the store has not decided it for some seconds. */
    public CompletionStage<Void> settledUnlessStuck() {
        return step(effects -> {
            outbox.hurry();
            Pending last = outbox.last();
            return last == null ? DONE : settled(last);
        });
    }

    private static CompletionStage<Void> settled(Pending pending) {
        CompletableFuture<Void> settled = pending.settled;
        if (settled == null) {
            settled = new CompletableFuture<>();
            pending.settled = settled;
        }
        return settled;
    }

    /**
     * Claims a new epoch though nothing is in doubt, so that no epoch of the session is newer than that of what is appended next.
     *
     * @param nonce the random half of that epoch, unless one is on its way
     * @return completes with whether the log goes on in it; with false nothing has changed. Fails if the store could not be asked
     */
    public CompletionStage<Boolean> renew(int nonce) {
        return step(effects -> outbox.renew(nonce));
    }

    private void renew(Turn.Renewal renewal) {
        CompletionStage<Optional<SessionStore.Claim>> claim;
        try {
            claim = store.claim(key(), renewal.nonce());
        } catch (Throwable e) {
            claim = CompletableFuture.failedFuture(e);
        }
        claim.whenComplete((found, failure) ->
                run(effects -> outbox.renewed(failure == null ? found : Optional.empty(), failure, effects)));
    }

    /**
     * Claims a new epoch, which decides what is in doubt.
     *
     * @param nonce the random half of that epoch
     * @return completes when the log goes on, false if the store does not have it any more; fails if the store could not be
     *     asked, and may then be called again
     */
    public CompletionStage<Boolean> claim(int nonce) {
        CompletionStage<Optional<SessionStore.Claim>> claim;
        try {
            claim = store.claim(key(), nonce);
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
        return claim.thenApply(found -> step(effects -> {
            found.ifPresent(present -> outbox.decide(present, effects));
            return !outbox.doubtful();
        }));
    }
}
