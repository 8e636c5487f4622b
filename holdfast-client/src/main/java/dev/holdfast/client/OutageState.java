package dev.holdfast.client;

import java.time.Duration;

/**
 * Counts what of a session is broken, so that its watch hears of the first break and of the moment when everything is back, and
 * not of each connection. Where the last of it was given up, the outage ends when the server is reached the next time. Thread-safe.
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

    /** Something broke, and is tried again. */
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

    /** The session is ended on this side: what breaks from now on breaks because of that. */
    synchronized void end() {
        ended = true;
    }

    /** Something that broke is back. */
    void back() {
        givenUp();
        reached();
    }

    /** Something that broke is not tried any more. */
    synchronized void givenUp() {
        broken--;
    }

    /** The server was reached. */
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
