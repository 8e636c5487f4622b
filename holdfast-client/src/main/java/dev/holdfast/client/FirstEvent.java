package dev.holdfast.client;

import dev.holdfast.client.wire.HttpExchange;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Waits for the first event on a connection that resumes a stream: some servers take the cursor, send the head, and then nothing. */
final class FirstEvent {
    private final Link link;
    private final HttpExchange exchange;
    private final Duration wait;
    private final BooleanSupplier missing;
    private final Runnable nothing;
    private volatile @Nullable Future<?> pending;

    /**
     * An event that is not waited for yet.
     *
     * @param wait how long the connection may bring nothing, while it is read
     * @param missing whether the event has not come, and somebody wants it
     * @param nothing runs if it does not come
     */
    FirstEvent(Link link, HttpExchange exchange, Duration wait, BooleanSupplier missing, Runnable nothing) {
        this.link = link;
        this.exchange = exchange;
        this.wait = wait;
        this.missing = missing;
        this.nothing = nothing;
    }

    /** Waits for it, as long as the connection lasts. */
    void expect() {
        look();
        exchange.end().thenAccept(end -> cancel());
    }

    private void look() {
        pending = link.later(wait.toMillis(), this::check);
        if (exchange.end().isDone()) {
            cancel();
        }
    }

    private void check() {
        if (!missing.getAsBoolean() || link.headsAtOnce() || link.taken().repeats()) {
            return;
        }
        if (exchange.busy(wait.toNanos())) {
            look();
        } else {
            nothing.run();
        }
    }

    private void cancel() {
        Future<?> check = pending;
        if (check != null) {
            check.cancel(false);
        }
    }
}
