package dev.holdfast.log;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
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
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What is on its way into a session's log. Steps fill it; one batch at a time goes to the store, and what the store has acknowledged
 * is committed in order. Without a store each step commits what it has added.
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
 *   any -> CLAIMING                          the store refuses the epoch
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

    sealed interface Turn {}

    static final class Batch implements Turn {
        final Epoch epoch;
        final Append append;
        /** The last offset of the listening stream with this batch, where the store places its events; set by its answer. */
        volatile long listening;

        private Batch(Epoch epoch, Append append) {
            this.epoch = epoch;
            this.append = append;
        }
    }

    /**
     * A new epoch, which somebody waits for.
     *
     * @param nonce the random half of the epoch
     * @param stage completes with whether the log goes on in it
     */
    record Renewal(int nonce, CompletableFuture<Boolean> stage) implements Turn {}

    enum Wait implements Turn {
        /** Nothing may go to the store. */
        NOTHING,
        /** What waits is taken when the effects of the step are done. */
        LATER
    }

    private final Epochs epochs;
    private final SessionLog.Owner owner;
    /** Whether anybody keeps what is committed. */
    private final boolean keeps;
    /** Whether the store gives the events of the listening stream their offsets. */
    final boolean places;

    private State state = State.UNNAMED;

    /** What waits for the next batch, in the order in which it came. */
    private List<Pending> waiting = List.of();
    /** Whether it goes to the store as soon as the batch before it is decided. */
    private boolean hurried;
    /** What the store may forget with the next batch. */
    private List<Append.Trim> trims = List.of();

    private List<Pending> current = List.of();
    private @Nullable Batch appending;
    private @Nullable Renewal renewal;
    private @Nullable Throwable doubt;
    /** What is to be done when the log goes on, because the store did not take it. */
    private final LazyQueue<Consumer<Step>> postponed = new LazyQueue<>();

    private boolean leaving;
    private long taken;

    Outbox(Epochs epochs, BatchWriter writer, SessionLog.Owner owner) {
        this.epochs = epochs;
        this.keeps = writer.keeps();
        this.places = writer.places();
        this.owner = owner;
    }

    /** The store knows the session from now on. */
    void start(Step step) {
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

    public long taken() {
        return taken;
    }

    public boolean closed() {
        return state == State.CLOSED;
    }

    boolean doubtful() {
        return state == State.CLAIMING;
    }

    /** Takes an entry, while it is {@link #open}; it goes to the store when the step is over. */
    public void add(Pending pending, Step step) {
        addLazily(pending, step);
        hurried = true;
    }

    /** The same for an entry that nothing may come before that waits already. */
    public void addFirst(Pending pending, Step step) {
        waiting = new ArrayList<>(waiting);
        waiting.add(0, pending);
        hurried = true;
    }

    /** Takes an entry that goes to the store with the next one, or when somebody asks for it with {@link #hurry}. */
    public void addLazily(Pending pending, Step step) {
        if (waiting.isEmpty()) {
            waiting = new ArrayList<>(1);
        }
        waiting.add(pending);
    }

    /** Sends what waits for the next entry. */
    public void hurry(Step step) {
        hurried = !waiting.isEmpty();
    }

    /** Lets the store forget an event with the next append. */
    public void trim(StreamId stream, long offset, Step step) {
        if (keeps) {
            if (trims.isEmpty()) {
                trims = new ArrayList<>(1);
            }
            trims.add(new Append.Trim(stream, offset));
        }
    }

    /** Lets the store forget now what waits for the next append. */
    public void flush(Step step) {
        if (trims.isEmpty() || !open()) {
            return;
        }
        if (waiting.isEmpty()) {
            add(new Pending(null, List.of()), step);
        } else {
            hurry(step);
        }
    }

    /** Runs an action with the log now, or when it goes on; never if it is closed before. */
    public void whenOpen(Step now, Consumer<Step> action) {
        if (open()) {
            action.accept(now);
        } else if (!closed()) {
            postponed.addLast(action);
        }
    }

    private void goOn(Step step) {
        postponed.takeAll().forEach(action -> action.accept(step));
    }

    /** Changes the record, again and again until the store has taken it. */
    public void insist(List<RecordChange> changes, Step step) {
        add(Pending.of(null, changes, next -> insist(changes, next)), step);
    }

    /** Makes the last changes of the record: nothing is taken behind them. While it is {@link #open}. */
    public void leave(List<RecordChange> changes, Step step) {
        insist(changes, step);
        leaving = true;
    }

    /** The last entry that is on its way. */
    @Nullable Pending last() {
        // what rests here is about to be appended by whoever has just ended the append before
        if (state != State.APPENDING && state != State.RESTING && state != State.RENEWING) {
            return null;
        }
        List<Pending> newest = waiting.isEmpty() ? current : waiting;
        return newest.isEmpty() ? null : newest.get(newest.size() - 1);
    }

    /** A step is about to end. Where it has no effects, its batch is taken at once. */
    Turn conclude(Step step) {
        while (!keeps && hurried && state == State.RESTING) {
            current = takeAll();
            commit(step);
        }
        if (state != State.RESTING || (!hurried && renewal == null)) {
            return Wait.NOTHING;
        }
        return hurried && !step.idle() ? Wait.LATER : next();
    }

    /** The next batch for the store, if one may go; before it the new epoch that somebody waits for. */
    Turn next() {
        if (state == State.RESTING && renewal != null) {
            state = State.RENEWING;
            return renewal;
        }
        if (state != State.RESTING || !hurried) {
            return Wait.NOTHING;
        }
        state = State.APPENDING;
        current = places ? takeFirst() : takeAll();
        Batch batch = new Batch(epochs.present, Pending.append(current, takeTrims()));
        appending = batch;
        return batch;
    }

    private List<Pending> takeAll() {
        List<Pending> all = waiting;
        waiting = List.of();
        hurried = false;
        return all;
    }

    /** Takes what goes to the store at once: the first entries of so many bytes, or a larger one alone. */
    private List<Pending> takeFirst() {
        int count = 0;
        long bytes = 0;
        while (count < waiting.size()
                && (count == 0 || bytes + waiting.get(count).bytes() <= MOST_BYTES_AT_ONCE)) {
            bytes += waiting.get(count++).bytes();
        }
        if (count == waiting.size()) {
            return takeAll();
        }
        List<Pending> first = new ArrayList<>(waiting.subList(0, count));
        waiting = new ArrayList<>(waiting.subList(count, waiting.size()));
        return first;
    }

    private List<Append.Trim> takeTrims() {
        List<Append.Trim> all = trims;
        trims = List.of();
        return all;
    }

    /** The append has succeeded, was refused, or its outcome is unknown. */
    void decided(@Nullable Throwable failure, Step step) {
        if (state == State.CLOSED) {
            return;
        }
        Batch batch = Objects.requireNonNull(appending);
        if (failure == null) {
            state = State.RESTING;
            place(batch.listening);
            appending = null;
            commit(step);
            return;
        }
        // nobody knows whether the store has forgotten what it was to forget: that goes with the next batch again
        List<Append.Trim> unknown = new ArrayList<>(batch.append.trims());
        unknown.addAll(trims);
        trims = unknown;
        if (failure instanceof TooLargeException && !waitsBehind(current)) {
            state = State.RESTING;
            appending = null;
            List<Pending> refused = current;
            current = List.of();
            refuse(refused, failure, step);
            goOn(step);
        } else {
            doubt(failure, step);
        }
    }

    /** Whether something waits behind one of these events on its stream, in a place that depends on theirs. */
    private boolean waitsBehind(List<Pending> others) {
        return others.stream()
                .map(Pending::event)
                .anyMatch(event -> event != null
                        && event.placed()
                        && waiting.stream()
                                .map(Pending::event)
                                .anyMatch(behind -> behind != null && behind.stream == event.stream));
    }

    /** The store refuses the epoch of this log: it has nothing of what waits, and of what is on its way nobody knows. */
    public void fence(Throwable failure, Step step) {
        if (state != State.CLOSED && state != State.CLAIMING) {
            doubt(failure, step);
        }
    }

    private void doubt(Throwable failure, Step step) {
        state = State.CLAIMING;
        doubt = failure;
        // what waits behind something that is too large is not too large itself
        refuse(
                takeAll(),
                failure instanceof TooLargeException ? new StoreUnavailableException(failure) : failure,
                step);
        owner.doubtful(failure, step);
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
    CompletableFuture<Boolean> renew(int nonce, Step step) {
        if (state == State.CLOSED) {
            return CompletableFuture.completedFuture(false);
        }
        Renewal asked = renewal == null ? new Renewal(nonce, new CompletableFuture<>()) : renewal;
        renewal = asked;
        return asked.stage();
    }

    /** Goes on, in the new epoch if there is one. */
    void renewed(Optional<SessionStore.Claim> next, @Nullable Throwable failure, Step step) {
        CompletableFuture<Boolean> stage = Objects.requireNonNull(renewal).stage();
        renewal = null;
        boolean goesOn = state == State.RENEWING && next.isPresent();
        if (state == State.RENEWING) {
            next.ifPresent(claim -> epochs.begin(claim, step));
            state = State.RESTING;
        }
        step.then(() -> {
            if (failure == null) {
                stage.complete(goesOn);
            } else {
                stage.completeExceptionally(failure);
            }
        });
    }

    /** Readers are woken before producers, who may do much on this thread. */
    private void commit(Step step) {
        taken++;
        List<Pending> batch = current;
        current = List.of();
        for (Pending pending : batch) {
            pending.committed = true;
            owner.committed(pending, step);
        }
        Pending.complete(batch, step);
    }

    private void refuse(List<Pending> entries, Throwable failure, Step step) {
        List<Pending> newestFirst = new ArrayList<>(entries);
        Collections.reverse(newestFirst);
        for (Pending pending : newestFirst) {
            pending.failure = failure;
            postponed.addFirst(pending::again);
            owner.refused(pending, step);
        }
        Pending.fail(entries, failure, step);
    }

    /** Fails the stages of what is in doubt, though the log may have it all the same. */
    public void dismissWaiting(Step step) {
        Pending.fail(current, Objects.requireNonNull(doubt, "nothing has failed"), step);
    }

    /** Fails what clients wait for. What is on its way stays there; calls behind it are taken back, for they have not begun. */
    public void dismissClients(Throwable failure, Step step) {
        List<Pending> awaited = new ArrayList<>();
        current.stream().filter(Pending::awaited).forEach(awaited::add);
        waiting.stream().filter(Pending::awaited).forEach(awaited::add);
        List<Pending> unbegun = waiting.stream()
                .filter(pending -> pending.awaited() && pending.begins())
                .toList();
        unbegun.forEach(pending -> pending.failure = failure);
        waiting = new ArrayList<>(waiting);
        waiting.removeAll(unbegun);
        hurried &= !waiting.isEmpty();
        Pending.fail(awaited, failure, step);
        Pending.stuck(current, failure, step);
        Pending.stuck(waiting, failure, step);
    }

    /** Decides the doubtful batch by what the log then holds, and goes on in the new epoch, if something is in doubt. */
    void decide(SessionStore.Claim claim, Step step) {
        if (state != State.CLAIMING) {
            return;
        }
        epochs.begin(claim.epoch(), step);
        state = State.RESTING;
        appending = null;
        if (Pending.inLog(current, claim)) {
            commit(step);
        } else {
            List<Pending> batch = current;
            current = List.of();
            refuse(batch, Objects.requireNonNull(doubt, "nothing has failed"), step);
        }
        goOn(step);
    }

    /**
     * Takes no more entries. The stages of those on their way complete, though nobody will read them; those of what is in doubt fail.
     */
    public void close(Step step) {
        if (state == State.CLOSED) {
            return;
        }
        List<Pending> left = new ArrayList<>(current);
        left.addAll(takeAll());
        if (state == State.CLAIMING) {
            Throwable failure = Objects.requireNonNull(doubt, "nothing has failed");
            left.forEach(pending -> pending.failure = failure);
            Pending.fail(left, failure, step);
        } else {
            left.forEach(pending -> pending.committed = true);
            Pending.complete(left, step);
        }
        if (renewal != null && state != State.RENEWING) {
            CompletableFuture<Boolean> stage = renewal.stage();
            step.then(() -> stage.complete(false));
        }
        state = State.CLOSED;
        current = List.of();
        appending = null;
        trims = List.of();
    }
}
