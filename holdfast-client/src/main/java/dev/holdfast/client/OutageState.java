package dev.holdfast.client;

import java.time.Duration;

/**
 * Counts the broken connections of a session, so that its watch hears when the first one breaks and when all are back. If the last one is
 * given up, the outage ends when the server is reached the next time. Thread-safe.
 */
final class OutageState {
    private final SessionWatch watch;
    private int broken;
    private volatile boolean away;
    private boolean ended;
    private long since;

    OutageState(SessionWatch watch) {
        this.watch = watch;
    }

    /** A connection broke, and is tried again. */
    void broke(Throwable cause) {
        synchronized (this) {
            if (broken++ > 0 || away || ended) {
                return;
            }
            away = true;
            since = System.nanoTime();
        }
        watch.reconnecting(cause);
    }

    /** The session is ended on this side: what breaks from now on is not told. */
    synchronized void end() {
        ended = true;
    }

    void back() {
        givenUp();
        reached();
    }

    synchronized void givenUp() {
        broken--;
    }

    void reached() {
        if (!away) {
            return;
        }
        Duration lasted;
        synchronized (this) {
            if (broken > 0 || !away) {
                return;
            }
            away = false;
            lasted = Duration.ofNanos(System.nanoTime() - since);
        }
        watch.resumed(lasted);
    }
}
