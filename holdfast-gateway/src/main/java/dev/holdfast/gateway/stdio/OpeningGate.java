package dev.holdfast.gateway.stdio;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;

/**
 * Lets so many openings be under way at once. The others wait in their order, and hold no thread: their turn comes on the thread
 * that ends another one. Thread-safe.
 */
final class OpeningGate {
    private static final int FEWEST = 4;
    private static final int OF_A_PROCESSOR = 2;

    private final int most;
    private final Set<Turn> waiting = new LinkedHashSet<>();
    private int underWay;
    private boolean closed;

    /** A gate for this many at once. */
    OpeningGate(int most) {
        this.most = most;
    }

    /** As many at once as the processors can serve: two for each, and four at least. */
    static OpeningGate ofMachine() {
        return new OpeningGate(
                Math.max(FEWEST, OF_A_PROCESSOR * Runtime.getRuntime().availableProcessors()));
    }

    /** The turn of one opening. */
    final class Turn {
        private final Runnable begin;

        private Turn(Runnable begin) {
            this.begin = begin;
        }

        /** Asks for it, once: it comes now, or when others have left. */
        void ask() {
            if (comesNow(this)) {
                begin.run();
            }
        }

        /**
         * Lets others have it, or stops to wait for it; called once.
         *
         * @return whether it had come
         */
        boolean leave() {
            if (stopsToWait(this)) {
                return false;
            }
            next().ifPresent(next -> next.begin.run());
            return true;
        }
    }

    /**
     * A turn that nobody has asked for yet.
     *
     * @param begin runs when it comes; must not block
     */
    Turn turn(Runnable begin) {
        return new Turn(begin);
    }

    /** Nobody's turn comes any more; those who wait have to leave by themselves. */
    synchronized void close() {
        closed = true;
    }

    private synchronized boolean comesNow(Turn turn) {
        if (closed || underWay == most) {
            waiting.add(turn);
            return false;
        }
        underWay++;
        return true;
    }

    private synchronized boolean stopsToWait(Turn turn) {
        return waiting.remove(turn);
    }

    /** Ends a turn; returns the one that comes for it. */
    private synchronized Optional<Turn> next() {
        Iterator<Turn> first = waiting.iterator();
        if (closed || !first.hasNext()) {
            underWay--;
            return Optional.empty();
        }
        Turn next = first.next();
        first.remove();
        return Optional.of(next);
    }
}
