package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets the messages of one session begin in the order in which they came, once there is a place for them to go to. On their connections
 * they may overtake each other, but none overtakes {@code notifications/initialized}: what comes behind that waits for its answer. Safe for
 * use by any thread.
 *
 * @param <P> where messages go to
 */
public final class Departures<P> {
    private static final String INITIALIZED = "notifications/initialized";
    /** How long a server may leave {@code notifications/initialized} without an answer, before it gets what follows. */
    private static final long INTRODUCTION_MILLIS = 5_000;

    private final Seldom.Later later;
    private final Supplier<CompletableFuture<P>> place;
    private final Queue<Departure<P>> waiting = new ArrayDeque<>(1);
    private boolean introducing;
    private boolean departing;

    /** A message that has not begun. */
    private record Departure<P>(
            Envelope message,
            Function<? super P, ? extends CompletionStage<Outcome>> sending,
            CompletableFuture<Outcome> sent) {
        private boolean introduces() {
            return message.method().equals(INITIALIZED);
        }

        private CompletionStage<Outcome> begin(P where) {
            try {
                return sending.apply(where);
            } catch (RuntimeException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        private void become(@Nullable Outcome outcome, @Nullable Throwable failure) {
            if (failure == null) {
                sent.complete(outcome);
            } else {
                sent.completeExceptionally(failure);
            }
        }
    }

    /**
     * Departures that have nothing to send.
     *
     * @param later runs what is due later, on a thread that may send messages
     * @param place where a message goes that begins now; completes once that is there, and never with a failure
     */
    public Departures(Seldom.Later later, Supplier<CompletableFuture<P>> place) {
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
        Departure<P> departure = new Departure<>(message, sending, new CompletableFuture<>());
        synchronized (this) {
            waiting.add(departure);
        }
        depart();
        return departure.sent();
    }

    /** Takes a message back, which then ends as cancelled; false if it has begun. */
    public boolean withdraw(Envelope message) {
        Departure<P> found = taken(message);
        return found != null && found.sent().complete(new Outcome.Cancelled());
    }

    private synchronized @Nullable Departure<P> taken(Envelope message) {
        for (Iterator<Departure<P>> all = waiting.iterator(); all.hasNext(); ) {
            Departure<P> each = all.next();
            if (each.message() == message) {
                all.remove();
                return each;
            }
        }
        return null;
    }

    private void depart() {
        while (true) {
            CompletableFuture<P> where = place.get();
            if (!where.isDone()) {
                where.thenRun(this::depart);
                return;
            }
            Departure<P> next = next(where);
            if (next != null) {
                try {
                    begin(next, where.join());
                } finally {
                    departed();
                }
            } else if (place.get() == where) {
                return;
            }
        }
    }

    private void begin(Departure<P> next, P where) {
        if (!next.introduces()) {
            next.begin(where).whenComplete(next::become);
            return;
        }
        introducing(true);
        Future<?> late = later.run(INTRODUCTION_MILLIS, this::introduced);
        next.begin(where).whenComplete((outcome, failure) -> {
            late.cancel(false);
            introduced();
            next.become(outcome, failure);
        });
    }

    private void introduced() {
        introducing(false);
        depart();
    }

    private synchronized void introducing(boolean begun) {
        introducing = begun;
    }

    /** The next message, unless the place has changed: what came behind the change does not go to the place before. */
    private synchronized @Nullable Departure<P> next(CompletableFuture<P> where) {
        Departure<P> next = introducing || departing || place.get() != where ? null : waiting.poll();
        departing |= next != null;
        return next;
    }

    private synchronized void departed() {
        departing = false;
    }
}
