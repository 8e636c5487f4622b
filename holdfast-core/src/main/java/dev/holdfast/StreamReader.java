package dev.holdfast;

import dev.holdfast.spi.Event;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A cursor over one stream, in the hands of one connection. Live delivery, replay and takeover are the same loop: read, write,
 * or rest until woken. Its methods are for the one thread that holds the connection's pump; only the waker comes from others.
 */
public interface StreamReader {
    /** The position of the last event read, as the client shall name it when it comes back. */
    String position();

    /**
     * The position of an event of this stream, as the client shall name it when it comes back. Empty for an event that no store has: the
     * client gets it without an id, and stays where it is.
     */
    String position(Event event);

    /**
     * Sets who is called, by any thread and without a lock, when there is something to read or the reading is at its end.
     * Called once, before the first {@link #read}.
     */
    void wakeWith(Waker waker);

    /**
     * Reports that the client is told a position before anything else, so that it can come back. From the first event on it can
     * anyway. Called before the first {@link #read}, if at all.
     */
    void positionTold();

    /**
     * Whether the store knows the stream. Before it does, nothing may be written but events that were read: neither a position,
     * nor the end. If it does not know it yet, it is told now, and the waker is called when it does.
     */
    boolean recorded();

    /**
     * Reads on from the cursor.
     *
     * @param maxBytes stop before the message that would exceed this, but never before the first; at least 1
     */
    Next read(int maxBytes);

    /**
     * Reports that all that was read has been written.
     *
     * @param began when the last write began, in nanoseconds of the engine's clock
     * @param completed when it was completed without error
     */
    void wrote(long began, long completed);

    /** Ends the reading; later calls change nothing. A connection that broke reports {@link Close#BROKEN}. */
    void close(Close how);

    /** How a reader calls its connection. */
    interface Waker {
        /** There is something to read, or to end. */
        void wake();

        /**
         * The session is over, and what is left counts for no limit any more: go on while the client takes it, and end as soon as it
         * takes nothing for a while.
         */
        default void hurry() {
            wake();
        }

        /** A newer connection reads now: end at once, whatever is half-written. */
        void abort();
    }

    /** What {@link #read} found. */
    sealed interface Next {}

    /**
     * Committed events, in order, at least one.
     *
     * @param events the events
     */
    record Events(List<Event> events) implements Next {}

    /** Nothing yet: the waker will be called. */
    enum Rest implements Next {
        REST
    }

    /**
     * Nothing more, ever: the connection is to be ended in order.
     *
     * @param reason why
     * @param retry when the client shall be back, where somebody asked for a certain time
     */
    record End(EndReason reason, Optional<Duration> retry) implements Next {}

    /** How a connection ended. */
    enum Close {
        /** By us, after everything was written. */
        IN_ORDER,
        /** By us, after everything was written, so that the client comes back: maximum age, polling, drain. */
        HANDOVER,
        /** Any other way. */
        BROKEN
    }
}
