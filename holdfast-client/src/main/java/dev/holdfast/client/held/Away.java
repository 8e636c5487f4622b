package dev.holdfast.client.held;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Whether the server is away for the application, over all sessions that were opened for it there: one that is given up while the
 * server is away does not take the end of the outage with it. Each outage and its end are told once. Thread-safe.
 */
final class Away {
    private final HeldWatch watch;
    /** When it began, by {@link System#nanoTime}. */
    private final AtomicReference<@Nullable Long> since = new AtomicReference<>();

    /** The server is there. */
    Away(HeldWatch watch) {
        this.watch = watch;
    }

    /** A connection broke. */
    void broke(Throwable cause) {
        if (since.compareAndSet(null, System.nanoTime())) {
            watch.reconnecting(cause);
        }
    }

    /** The server was reached. */
    void back() {
        Long begun = since.getAndSet(null);
        if (begun != null) {
            watch.resumed(Duration.ofNanos(System.nanoTime() - begun));
        }
    }

    /** The server was reached, in another session: that is told by itself. */
    void replaced() {
        since.set(null);
    }
}
