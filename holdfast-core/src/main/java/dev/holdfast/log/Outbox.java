package dev.holdfast.log;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What is on its way into a session's log. It is filled inside steps; one batch at a time goes to the store, and what the store
 * has acknowledged is committed in order. Without a store each step commits what it has added.
 *
 * <p>A failed append leaves the log's end unknown. From then on everything is refused until a new epoch is claimed: the claim
 * tells whether the doubtful batch is in the log, and fences it if it is still on its way. Only what the store refuses for its size
 * is surely not there: the log goes on without it.
 *
 * <pre>
 *   UNNAMED -> RESTING                       the session's key is known, its record created
 *   RESTING -> APPENDING -> RESTING          one batch at a time
 *              APPENDING -> CLAIMING -> RESTING
 *   RESTING -> RENEWING -> RESTING           a new epoch is on its way, and batches wait for it
 *   any -> CLAIMING                          whoever appends has no right to it any more
 *   any -> CLOSED
 * </pre>
 */
public final class Outbox {
    /** So many bytes of entries go to a shared store at once. What is larger goes alone: the store may refuse it for its size. */
    private static final int MOST_BYTES_AT_ONCE = 256 << 10;

    private enum State {
        UNNAMED,
        RESTING,
        APPENDING,
        CLAIMING,
        RENEWING,
        CLOSED
    }

    /** What the session does when entries are decided; called inside a step. */
    public interface Owner {
        void committed(Pending pending, Effects effects);

        /** The store does not have it: newest first. */
        void refused(Pending pending, Effects effects);

        /** The log cannot go on before a {@link SessionLog#claim}. */
        void doubtful(Throwable failure, Effects effects);

        /** A step is about to end: what else it has caused is added to its effects. */
        void concluding(Effects effects);

        /** The log goes on. */
        void recovered();
    }

    private final Epochs epochs;
    private final Keeping keeping;
    private @Nullable Owner owner;
    private State state = State.UNNAMED;
    private final Backlog waiting = new Backlog();
    private List<Pending> current = List.of();
    private Turn.@Nullable Batch appending;
    private Turn.@Nullable Renewal renewal;
    private @Nullable Throwable doubt;
    private boolean leaving;
    private long taken;

    Outbox(Epochs epochs, Keeping keeping) {
        this.epochs = epochs;
        this.keeping = keeping;
    }

    /** Lets an owner hear of what becomes of the entries. Called once, before the first step. */
    public void serve(Owner next) {
        owner = next;
    }

    private Owner owner() {
        return Objects.requireNonNull(owner, "nobody owns the outbox");
    }

    /** Whether the store gives events of this stream their offsets. */
    boolean placesLater(LiveStream stream) {
        return keeping == Keeping.SHARED_STORE && stream.listening();
    }

    /** The store knows the session from now on. */
    void start() {
        if (state == State.UNNAMED) {
            state = State.RESTING;
        }
    }

    /** Whether new entries are taken. */
    public boolean open() {
        return !leaving && state != State.CLAIMING && state != State.CLOSED;
    }

    /** Whether the store knows the session. */
    public boolean started() {
        return state != State.UNNAMED;
    }

    /** Whether nothing is on its way, or waits to be. */
    public boolean resting() {
        return state == State.RESTING && waiting.isEmpty();
    }

    /** Whether the store has answered whatever it was given. */
    public boolean answered() {
        return state == State.RESTING;
    }

    /** How many batches the store has taken. */
    public long taken() {
        return taken;
    }

    /** Whether nothing will ever be taken again. */
    public boolean closed() {
        return state == State.CLOSED;
    }

    /** Takes an entry, while it is {@link #open}; it goes to the store when the step is over. */
    public void add(Pending pending) {
        waiting.add(pending);
        waiting.hurry();
    }

    /** Takes an entry that goes to the store with the next one, or when somebody asks for it with {@link #hurry}. */
    public void addLazily(Pending pending) {
        waiting.add(pending);
    }

    /** Lets go what waits for the next entry. */
    public void hurry() {
        waiting.hurry();
    }

    /** Lets the store forget an event with the next append. */
    void trim(KeptEvent event) {
        trim(event.stream.id(), event.event.offset());
    }

    /** Lets the store forget with the next append what is not kept here. */
    public void trim(StreamId stream, long offset) {
        if (keeping != Keeping.MEMORY) {
            waiting.trim(stream, offset);
        }
    }

    /** Lets the store forget now what waits for the next append. */
    public void flush() {
        if (!waiting.trims() || !open()) {
            return;
        }
        if (waiting.isEmpty()) {
            add(new Pending(null, List.of()));
        } else {
            hurry();
        }
    }

    /** Makes a change of the record sooner or later, whatever the store does. */
    public void insist(List<RecordChange> changes) {
        add(Pending.of(changes, () -> insist(changes)));
    }

    /** Makes the last changes of the record: nothing is taken behind them. While it is {@link #open}. */
    public void leave(List<RecordChange> changes) {
        insist(changes);
        leaving = true;
    }

    /** The last entry that is on its way. */
    @Nullable Pending last() {
        // what rests here is about to be appended by whoever has just ended the append before
        if (state != State.APPENDING && state != State.RESTING && state != State.RENEWING) {
            return null;
        }
        if (!waiting.isEmpty()) {
            return waiting.newest();
        }
        return current.isEmpty() ? null : current.get(current.size() - 1);
    }

    /** A step is about to end. Where it has no effects, its batch is taken at once. */
    Turn conclude(Effects effects) {
        while (keeping == Keeping.MEMORY && due()) {
            current = waiting.take();
            commit(effects);
        }
        owner().concluding(effects);
        return effects.none() || !due() ? next() : Turn.Wait.LATER;
    }

    private boolean due() {
        return waiting.due() && state == State.RESTING;
    }

    /** The next batch for the store, if one may go; before it the new epoch that somebody waits for. */
    Turn next() {
        if (state == State.RESTING && renewal != null) {
            state = State.RENEWING;
            return renewal;
        }
        if (!due()) {
            return Turn.Wait.NOTHING;
        }
        state = State.APPENDING;
        current = keeping == Keeping.SHARED_STORE ? waiting.take(MOST_BYTES_AT_ONCE) : waiting.take();
        Turn.Batch batch = new Turn.Batch(epochs.present(), Pending.append(current, waiting.takeTrims()));
        appending = batch;
        return batch;
    }

    /** The store has the batch, or says that it has not, or nothing. */
    void decided(@Nullable Throwable failure, Effects effects) {
        if (state == State.CLOSED) {
            return;
        }
        if (failure == null) {
            state = State.RESTING;
            place(Objects.requireNonNull(appending).listening());
            appending = null;
            commit(effects);
            return;
        }
        waiting.trimAgain(Objects.requireNonNull(appending).append().trims());
        if (failure instanceof TooLargeException && !waiting.isBehind(current)) {
            state = State.RESTING;
            appending = null;
            List<Pending> batch = current;
            current = List.of();
            refuse(batch, failure, effects);
            owner().recovered();
        } else {
            doubt(failure, effects);
        }
    }

    /** Whoever appends has no right to it any more: the store has nothing of what waits, and of what is on its way nobody knows. */
    public void fence(Throwable failure, Effects effects) {
        if (state != State.CLOSED && state != State.CLAIMING) {
            doubt(failure, effects);
        }
    }

    private void doubt(Throwable failure, Effects effects) {
        state = State.CLAIMING;
        doubt = failure;
        // what waits behind something that is too large is not too large itself
        refuse(
                waiting.take(),
                failure instanceof TooLargeException ? new StoreUnavailableException(failure) : failure,
                effects);
        owner().doubtful(failure, effects);
    }

    /** Gives the batch's events of the listening stream the offsets that end here, where the store has placed them. */
    private void place(long last) {
        long place = last;
        for (int i = current.size() - 1; i >= 0; i--) {
            KeptEvent event = current.get(i).event();
            if (event != null && !event.placed()) {
                event.place(place--);
            }
        }
    }

    /**
     * Asks for a new epoch, which goes before the next batch; of those who ask until it is there each gets the same.
     *
     * @return completes with whether the log goes on in it
     */
    CompletableFuture<Boolean> renew(int nonce) {
        if (state == State.CLOSED) {
            return CompletableFuture.completedFuture(false);
        }
        Turn.Renewal asked = renewal == null ? new Turn.Renewal(nonce) : renewal;
        renewal = asked;
        return asked.stage();
    }

    /** Goes on, in the new epoch if there is one. */
    void renewed(Optional<SessionStore.Claim> next, @Nullable Throwable failure, Effects effects) {
        CompletableFuture<Boolean> stage = Objects.requireNonNull(renewal).stage();
        renewal = null;
        boolean goesOn = state == State.RENEWING && next.isPresent();
        if (state == State.RENEWING) {
            next.ifPresent(epochs::begin);
            state = State.RESTING;
        }
        effects.then(() -> {
            if (failure == null) {
                stage.complete(goesOn);
            } else {
                stage.completeExceptionally(failure);
            }
        });
    }

    /** Readers are woken before producers, who may do much on this thread. */
    private void commit(Effects effects) {
        taken++;
        List<Pending> batch = current;
        current = List.of();
        for (Pending pending : batch) {
            pending.committed = true;
            owner().committed(pending, effects);
        }
        Pending.complete(batch, effects);
    }

    private void refuse(List<Pending> entries, Throwable failure, Effects effects) {
        List<Pending> newestFirst = new ArrayList<>(entries);
        Collections.reverse(newestFirst);
        for (Pending pending : newestFirst) {
            pending.failure = failure;
            owner().refused(pending, effects);
        }
        Pending.fail(entries, failure, effects);
    }

    /** Nobody shall wait any longer for what is in doubt, though it may yet turn out to be in the log. */
    public void dismissWaiting(Effects effects) {
        Pending.fail(current, Objects.requireNonNull(doubt, "nothing has failed"), effects);
    }

    /** No client shall wait any longer, though what is on its way stays there; calls that wait behind it have not begun. */
    public void dismissClients(Throwable failure, Effects effects) {
        List<Pending> awaited =
                new ArrayList<>(current.stream().filter(Pending::awaited).toList());
        awaited.addAll(waiting.awaited());
        waiting.takeCalls().forEach(pending -> pending.failure = failure);
        Pending.fail(awaited, failure, effects);
        Pending.stuck(current, failure, effects);
        waiting.stuck(failure, effects);
    }

    /** Decides the doubtful batch by what the log then holds, and goes on in the new epoch; false if nothing is in doubt. */
    boolean decide(SessionStore.Claim claim, Effects effects) {
        if (state != State.CLAIMING) {
            return false;
        }
        epochs.begin(claim.epoch());
        state = State.RESTING;
        appending = null;
        if (Pending.inLog(current, claim)) {
            commit(effects);
        } else {
            List<Pending> batch = current;
            current = List.of();
            refuse(batch, Objects.requireNonNull(doubt, "nothing has failed"), effects);
        }
        owner().recovered();
        return true;
    }

    /** Whether it waits for a claim. */
    boolean doubtful() {
        return state == State.CLAIMING;
    }

    /**
     * Takes no more entries. The stages of those on their way complete, though nobody will read them; of what is in doubt nobody
     * shall believe that it is in the log.
     */
    public void close(Effects effects) {
        if (state == State.CLOSED) {
            return;
        }
        List<Pending> left = new ArrayList<>(current);
        left.addAll(waiting.take());
        if (state == State.CLAIMING) {
            Throwable failure = Objects.requireNonNull(doubt, "nothing has failed");
            left.forEach(pending -> pending.failure = failure);
            Pending.fail(left, failure, effects);
        } else {
            left.forEach(pending -> pending.committed = true);
            Pending.complete(left, effects);
        }
        if (renewal != null && state != State.RENEWING) {
            CompletableFuture<Boolean> stage = renewal.stage();
            effects.then(() -> stage.complete(false));
        }
        state = State.CLOSED;
        current = List.of();
        appending = null;
        waiting.takeTrims();
    }
}
