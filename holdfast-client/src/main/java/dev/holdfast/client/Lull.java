package dev.holdfast.client;

import dev.holdfast.client.wire.HttpExchange;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Ends a connection that resumed a stream and brings nothing new, so that the stream is resumed once more, where the server is known to
 * replay what belongs to other streams: such a server may send what was missed, and nothing of what follows. It waits longer each
 * time, until something new comes.
 */
final class Lull {
    private static final long FIRST_MILLIS = 5_000;
    private static final long LONGEST_MILLIS = 60_000;
    private static final long PAUSE_MILLIS = 100;

    private final Link link;
    private volatile long wait = FIRST_MILLIS;
    private volatile long news;
    private volatile boolean busy;
    private volatile @Nullable HttpExchange ended;
    private volatile @Nullable Future<?> pending;

    Lull(Link link) {
        this.link = link;
    }

    /** How many milliseconds to wait before the next connection: the server has to notice first that the one before is gone. */
    static long pause() {
        return ThreadLocalRandom.current().nextLong(PAUSE_MILLIS, 2 * PAUSE_MILLIS);
    }

    /** Watches a connection that has resumed the stream. */
    void watch(HttpExchange exchange) {
        news = System.nanoTime();
        busy = false;
        checkIn(wait, exchange);
        exchange.end().thenAccept(end -> cancel());
    }

    private void checkIn(long millis, HttpExchange exchange) {
        pending = link.later(millis, () -> check(exchange));
    }

    private void cancel() {
        Future<?> check = pending;
        if (check != null) {
            check.cancel(false);
        }
    }

    private void check(HttpExchange exchange) {
        if (exchange.end().isDone()) {
            return;
        }
        long left = wait - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - news);
        if (!link.taken().repeats()) {
            checkIn(LONGEST_MILLIS, exchange);
        } else if (busy || exchange.busy(TimeUnit.MILLISECONDS.toNanos(wait)) || left > 0) {
            checkIn(Math.max(left, 1_000), exchange);
        } else {
            wait = Math.min(LONGEST_MILLIS, 2 * wait);
            ended = exchange;
            exchange.abort("nothing new comes on it");
        }
    }

    /** Something new has come. */
    void news() {
        news = System.nanoTime();
        wait = FIRST_MILLIS;
    }

    /** Something that has come is being taken, or waited for. */
    void taking() {
        busy = true;
    }

    /** It was taken. */
    void taken() {
        news = System.nanoTime();
        busy = false;
    }

    /** Whether a connection was ended by this. */
    boolean hasEnded(@Nullable HttpExchange exchange) {
        return exchange != null && exchange == ended;
    }
}
