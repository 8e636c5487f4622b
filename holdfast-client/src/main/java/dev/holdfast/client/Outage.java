package dev.holdfast.client;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Counts what of a session is broken, so that its watch hears of the first break and of the moment when everything is back, and
 * not of each connection. Thread-safe.
 */
final class Outage {
    private final ReentrantLock lock = new ReentrantLock();
    private final SessionWatch watch;
    private int broken;
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
            if (broken++ > 0) {
                return;
            }
            since = System.nanoTime();
        } finally {
            lock.unlock();
        }
        watch.reconnecting(cause);
    }

    /** Something that broke is back. */
    void back() {
        settled(false);
    }

    /** Something that broke is not tried any more. */
    void givenUp() {
        settled(true);
    }

    private void settled(boolean inVain) {
        Duration away;
        lock.lock();
        try {
            if (--broken > 0 || inVain) {
                return;
            }
            away = Duration.ofNanos(System.nanoTime() - since);
        } finally {
            lock.unlock();
        }
        watch.resumed(away);
    }
}
