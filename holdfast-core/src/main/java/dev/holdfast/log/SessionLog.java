package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The lock of a session, and its way into the store. All that changes a session happens in a {@link #step}: the lock is taken,
 * a decision made, the lock released, and then what the decision causes is done: its effects, in order, then the append of what
 * stands in the outbox. Nothing else takes the lock, and nothing that blocks, waits or calls somebody else happens under it.
 */
public final class SessionLog implements StreamCursor.Log {
    /** What a session does about its log. */
    public interface Owner {
        /** The log has it. */
        void committed(Pending pending, Step step);

        /** The log does not have it: newest first. */
        void refused(Pending pending, Step step);

        /** The log cannot go on before a {@link SessionLog#claim}. */
        void doubtful(Throwable failure, Step step);

        /** A server-to-client request is not kept any more. */
        void questionDropped(RequestId question, Step step);

        /** All sessions together keep too much; called without the lock. */
        void makeRoom();

        /** Ends the session; called without the lock. */
        void end(EndReason reason);
    }

    /** The stage of everything that is committed already. */
    public static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final Object lock = new Object();
    private final SessionStore store;
    private final BatchWriter writer;
    private final Owner owner;
    private final Runnable makesRoom;
    private final Consumer<EndReason> ends;
    private final Epochs epochs;
    private final Outbox outbox;
    private @Nullable SessionKey key;

    /**
     * @param store where new epochs are claimed
     * @param writer the way into that store
     */
    public SessionLog(SessionStore store, BatchWriter writer, Epochs epochs, Owner owner) {
        this.store = store;
        this.writer = writer;
        this.owner = owner;
        this.makesRoom = owner::makeRoom;
        this.ends = owner::end;
        this.epochs = epochs;
        this.outbox = new Outbox(epochs, writer, owner);
    }

    Owner owner() {
        return owner;
    }

    public Outbox outbox() {
        return outbox;
    }

    public Epochs epochs() {
        return epochs;
    }

    @Override
    public Epoch epoch() {
        return epochs.present;
    }

    @Override
    public void hurry(Step step) {
        outbox.hurry(step);
    }

    @Override
    public <T> T step(Function<Step, T> decision) {
        assert !Thread.holdsLock(lock) : "a step in a step";
        Step step = new Step();
        Outbox.Turn turn;
        T result;
        synchronized (lock) {
            result = decision.apply(step);
            turn = outbox.conclude(step);
        }
        if (!step.endsIdle() || turn != Outbox.Wait.NOTHING) {
            perform(step, turn);
        }
        return result;
    }

    /** The same for a decision that nobody has to hear of. */
    public void run(Consumer<Step> decision) {
        step(step -> {
            decision.accept(step);
            return DONE;
        });
    }

    /** Looks at something that steps change; nothing is caused. */
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
    private void perform(Step step, Outbox.Turn turn) {
        Step present = step;
        Outbox.Turn next = turn;
        while (true) {
            present.perform(makesRoom, ends);
            if (next == Outbox.Wait.LATER) {
                next = look(outbox::next);
            }
            if (next instanceof Outbox.Renewal renewal) {
                renew(renewal);
                return;
            }
            if (!(next instanceof Outbox.Batch batch)) {
                return;
            }
            CompletableFuture<Void> stage = append(batch);
            if (!stage.isDone()) {
                stage.whenComplete((done, failure) -> {
                    Step decided = new Step();
                    perform(decided, decide(failure, decided));
                });
                return;
            }
            present = new Step();
            next = decide(failureOf(stage), present);
        }
    }

    /** Decides what was appended; returns what is to be next. */
    private Outbox.Turn decide(@Nullable Throwable failure, Step step) {
        synchronized (lock) {
            outbox.decided(failure == null ? null : StoreQuestion.causeOf(failure), step);
            return outbox.conclude(step);
        }
    }

    private CompletableFuture<Void> append(Outbox.Batch batch) {
        try {
            return writer.write(key(), batch.epoch, batch.append, last -> batch.listening = last)
                    .toCompletableFuture();
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

    /** The store knows the session under this key from now on. */
    public void start(SessionKey name) {
        run(step -> {
            key = name;
            outbox.start(step);
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
        return last(SessionLog::stage);
    }

    /** Completes when what is on its way is decided; fails when the store has not decided it for some seconds. */
    public CompletionStage<Void> settledUnlessStuck() {
        return last(pending -> {
            CompletableFuture<Void> settled = pending.settled == null ? new CompletableFuture<>() : pending.settled;
            pending.settled = settled;
            return settled;
        });
    }

    private CompletionStage<Void> last(Function<Pending, CompletionStage<Void>> stage) {
        return step(step -> {
            outbox.hurry(step);
            Pending last = outbox.last();
            return last == null ? DONE : stage.apply(last);
        });
    }

    /**
     * Claims a new epoch though nothing is in doubt, so that no epoch of the session is newer than that of what is appended next.
     *
     * @param nonce the random half of that epoch, unless one is on its way
     * @return completes with whether the log goes on in it; with false nothing has changed. Fails if the store could not be asked
     */
    public CompletionStage<Boolean> renew(int nonce) {
        return step(step -> outbox.renew(nonce, step));
    }

    private void renew(Outbox.Renewal renewal) {
        ask(renewal.nonce())
                .whenComplete((found, failure) ->
                        run(step -> outbox.renewed(failure == null ? found : Optional.empty(), failure, step)));
    }

    /**
     * Claims a new epoch, which decides what is in doubt.
     *
     * @param nonce the random half of that epoch
     * @return completes when the log goes on, false if the store does not have it any more; fails if the store could not be
     *     asked, and may then be called again
     */
    public CompletionStage<Boolean> claim(int nonce) {
        return ask(nonce)
                .thenApply(found -> step(step -> {
                    found.ifPresent(present -> outbox.decide(present, step));
                    return !outbox.doubtful();
                }));
    }

    private CompletionStage<Optional<SessionStore.Claim>> ask(int nonce) {
        try {
            return store.claim(key(), nonce);
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
