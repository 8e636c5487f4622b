package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets the messages of one session begin in the order in which they came, once there is a place for them to go to. On their connections
 * they may overtake each other, but none overtakes {@code notifications/initialized}: later ones wait until that is answered. Safe for
 * use by any thread.
 *
 * @param <P> where messages go to
 */
public final class SendQueue<P> {
    private static final String INITIALIZED = "notifications/initialized";
    /** How long a server may leave {@code notifications/initialized} without an answer, before it gets what follows. */
    private static final long INITIALIZED_MILLIS = 5_000;

    private final Throttle.Later later;
    private final Supplier<CompletableFuture<P>> place;
    private final Queue<Entry<P>> waiting = new ArrayDeque<>(1);
    /** Whether {@code notifications/initialized} has to be answered first. */
    private boolean initializing;

    private boolean beginning;

    /** A message that has not begun. */
    private record Entry<P>(
            Envelope message,
            Function<? super P, ? extends CompletionStage<Outcome>> sending,
            CompletableFuture<Outcome> sent) {}

    /**
     * An empty queue.
     *
     * @param later runs what is due later, on a thread that may send messages
     * @param place where a message goes that begins now; completes once that is there, and never with a failure
     */
    public SendQueue(Throttle.Later later, Supplier<CompletableFuture<P>> place) {
        this.later = later;
        this.place = place;
    }

    /**
     * Sends a message, on this thread or on the one that lets those before it begin.
     *
     * @param sending begins to send it to a place, without waiting
     * @return what became of it
     */
    public CompletableFuture<Outcome> send(
            Envelope message, Function<? super P, ? extends CompletionStage<Outcome>> sending) {
        Entry<P> entry = new Entry<>(message, sending, new CompletableFuture<>());
        synchronized (this) {
            waiting.add(entry);
        }
        drain();
        return entry.sent();
    }

    /** Takes a message back, which then ends as cancelled; false if it has begun. */
    public boolean withdraw(Envelope message) {
        Entry<P> found;
        synchronized (this) {
            found = waiting.stream()
                    .filter(entry -> entry.message() == message)
                    .findFirst()
                    .orElse(null);
            waiting.remove(found);
        }
        return found != null && found.sent().complete(new Outcome.Cancelled());
    }

    private void drain() {
        while (true) {
            CompletableFuture<P> where = place.get();
            if (!where.isDone()) {
                where.thenRun(this::drain);
                return;
            }
            Entry<P> next = next(where);
            if (next != null) {
                try {
                    begin(next, where.join());
                } finally {
                    begun();
                }
            } else if (place.get() == where) {
                return;
            }
        }
    }

    /** The next message, unless the place has changed: a message that came after the change must not go to the old place. */
    private synchronized @Nullable Entry<P> next(CompletableFuture<P> where) {
        Entry<P> next = initializing || beginning || place.get() != where ? null : waiting.poll();
        beginning |= next != null;
        return next;
    }

    private synchronized void begun() {
        beginning = false;
    }

    private void begin(Entry<P> next, P where) {
        boolean initialized = next.message().method().equals(INITIALIZED);
        Future<?> late = null;
        if (initialized) {
            initializing(true);
            late = later.run(INITIALIZED_MILLIS, this::initialized);
        }
        Future<?> pending = late;
        CompletionStage<Outcome> outcome;
        try {
            outcome = next.sending().apply(where);
        } catch (RuntimeException e) {
            outcome = CompletableFuture.failedFuture(e);
        }
        outcome.whenComplete((sent, failure) -> {
            if (pending != null) {
                pending.cancel(false);
                initialized();
            }
            if (failure == null) {
                next.sent().complete(sent);
            } else {
                next.sent().completeExceptionally(failure);
            }
        });
    }

    private void initialized() {
        initializing(false);
        drain();
    }

    private synchronized void initializing(boolean begun) {
        initializing = begun;
    }
}
