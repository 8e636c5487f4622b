package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets the messages of one session begin in the order in which they came, while it is open. On their connections they may overtake each
 * other, but none overtakes {@code notifications/initialized}: what comes behind that waits for its answer. Safe for use by any thread.
 */
public final class Departures {
    private static final String INITIALIZED = "notifications/initialized";
    /** How long a server may leave {@code notifications/initialized} without an answer, before it gets what follows. */
    private static final long INTRODUCTION_MILLIS = 5_000;

    private final Seldom.Later later;
    private final Queue<Runnable> waiting = new ArrayDeque<>(1);
    private boolean open;
    private boolean departing;

    /**
     * Closed at first.
     *
     * @param later runs what is due later, on a thread that may send messages
     */
    public Departures(Seldom.Later later) {
        this.later = later;
    }

    /** Lets those begin that wait, and those who come. */
    public void open() {
        synchronized (this) {
            open = true;
        }
        depart();
    }

    /**
     * Sends a message, on this thread or on the one that lets those before it begin.
     *
     * @param sending begins to send it, without waiting
     * @return what became of it
     */
    public CompletableFuture<Outcome> send(Envelope message, Supplier<? extends CompletionStage<Outcome>> sending) {
        CompletableFuture<Outcome> sent = new CompletableFuture<>();
        boolean introduces = message.method().equals(INITIALIZED);
        add(() -> {
            if (introduces) {
                close();
            }
            begin(sending).whenComplete((outcome, failure) -> {
                if (introduces) {
                    open();
                }
                if (failure == null) {
                    sent.complete(outcome);
                } else {
                    sent.completeExceptionally(failure);
                }
            });
        });
        if (introduces) {
            Future<?> late = later.run(INTRODUCTION_MILLIS, this::open);
            sent.whenComplete((outcome, failure) -> late.cancel(false));
        }
        return sent;
    }

    private static CompletionStage<Outcome> begin(Supplier<? extends CompletionStage<Outcome>> sending) {
        try {
            return sending.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void add(Runnable task) {
        synchronized (this) {
            waiting.add(task);
        }
        depart();
    }

    private synchronized void close() {
        open = false;
    }

    private void depart() {
        for (Runnable next = next(); next != null; next = next()) {
            try {
                next.run();
            } finally {
                departed();
            }
        }
    }

    private synchronized @Nullable Runnable next() {
        Runnable next = open && !departing ? waiting.poll() : null;
        departing |= next != null;
        return next;
    }

    private synchronized void departed() {
        departing = false;
    }
}
