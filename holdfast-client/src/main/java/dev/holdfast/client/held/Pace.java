package dev.holdfast.client.held;

import dev.holdfast.client.Patience;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** How soon a lost session may be replaced: at once, unless it was lost soon after it was opened, and of no use. Thread-safe. */
final class Pace {
    /** A session that lived so long was one. */
    private static final long PROOF_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ReentrantLock lock = new ReentrantLock();
    private final Patience patience;
    private long openedAt = System.nanoTime() - PROOF_NANOS;
    private int number;
    private boolean served;
    private boolean replaced;

    Pace(Patience patience) {
        this.patience = patience;
    }

    /** The application opens a session: what failed before does not count. */
    void introduced() {
        lock.lock();
        try {
            patience.succeeded();
        } finally {
            lock.unlock();
        }
    }

    /** A session was opened. */
    void opened(int which) {
        lock.lock();
        try {
            number = which;
            served = false;
            openedAt = System.nanoTime();
        } finally {
            lock.unlock();
        }
    }

    /** A call of the application was answered in a session. */
    void served(int which) {
        lock.lock();
        try {
            served |= which == number;
        } finally {
            lock.unlock();
        }
    }

    /** In how many milliseconds to try again to replace a session, where that one was lost on its way; empty if no more should be tried. */
    OptionalLong lostAgain() {
        lock.lock();
        try {
            return patience.failed(0);
        } finally {
            lock.unlock();
        }
    }

    /** In how many milliseconds the session that was lost now may be replaced; empty if no more should be tried. */
    OptionalLong lost() {
        lock.lock();
        try {
            boolean soon = replaced && !served && System.nanoTime() - openedAt < PROOF_NANOS;
            replaced = true;
            if (soon) {
                return patience.failed(0);
            }
            patience.succeeded();
            return OptionalLong.of(0);
        } finally {
            lock.unlock();
        }
    }
}
