package dev.holdfast.upstream;

import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** Lets tasks begin one after the other, in the order in which they came, while it is open. Safe for use by any thread. */
final class Departures {
    private final Queue<Runnable> waiting = new ArrayDeque<>(1);
    private boolean open;
    private boolean departing;

    /** Begins a task on this thread, or on the one that lets those before it begin. */
    void add(Runnable task) {
        synchronized (this) {
            waiting.add(task);
        }
        depart();
    }

    void open() {
        synchronized (this) {
            open = true;
        }
        depart();
    }

    /** What has not begun yet waits for the next opening. */
    synchronized void close() {
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
