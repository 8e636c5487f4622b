package dev.holdfast.gateway.process;

import java.util.concurrent.atomic.AtomicInteger;

/** The pauses of a child's reader, in which it does not read what the child says. One thread makes them, any may ask. */
final class ReadPauses {
    /** How many pauses have begun and ended, together: odd in a pause. */
    private final AtomicInteger edges = new AtomicInteger();

    /** Waits for something, and reads nothing meanwhile. */
    void during(Runnable wait) {
        edges.incrementAndGet();
        try {
            wait.run();
        } finally {
            edges.incrementAndGet();
        }
    }

    /** A mark of now, for {@link #since}. */
    int mark() {
        return edges.get();
    }

    /** Whether there was a pause at the mark or after it. */
    boolean since(int mark) {
        return (mark & 1) == 1 || edges.get() != mark;
    }
}
