package dev.holdfast.client;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts what of a session is broken, so that its watch hears of the first break and of the moment when everything is back, and
 * not of each connection. Where the last of it was given up, the outage ends when the server is reached the next time. Thread-safe.
 */
final class Outage {
    private final ReentrantLock lock = new ReentrantLock();
    private final SessionWatch watch;
    private int broken;
    private volatile boolean away;
    private long since;

    Outage(SessionWatch watch) {
        this.watch = watch;
    }

    SessionWatch watch() {
        return watch;
    }

    /** Something broke, and is tried again. */
    void broke(Throwable cause) {
        lock.lock();
        try {
            if (broken++ > 0 || away) {
                return;
            }
            away = true;
            since = System.nanoTime();
        } finally {
            lock.unlock();
        }
        watch.reconnecting(cause);
    }

    /** Something that broke is back. */
    void back() {
        settled();
        reached();
    }

    /** Something that broke is not tried any more. */
    void givenUp() {
        settled();
    }

    private void settled() {
        lock.lock();
        try {
            broken--;
        } finally {
            lock.unlock();
        }
    }

    /** The server was reached. */
    void reached() {
        if (!away) {
            return;
        }
        Duration lasted;
        lock.lock();
        try {
            if (broken > 0 || !away) {
                return;
            }
            away = false;
            lasted = Duration.ofNanos(System.nanoTime() - since);
        } finally {
            lock.unlock();
        }
        watch.resumed(lasted);
    }
}
