package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Optional;

/** A reader as its stream knows it. To run it is to wake its connection. */
public interface StreamCursor extends Runnable {
    /** How far it has read. */
    long cursor();

    /** Ends the reading at once, as for a newer reader. The connection learns of it when it is woken. */
    void supersede(Step step);

    /**
     * Ends the reading after what is committed now. A stream that is complete has an end of its own, and a client that could not
     * come back is not sent away. The connection learns of it when it is woken.
     */
    void end(EndReason reason, Optional<Duration> retry, Step step);

    /** Something that its client is told, and that has no place in the stream. */
    static Event unplaced(StreamId stream, Epoch epoch, OutboundMessage message) {
        return new Event(stream, epoch, Event.UNPLACED, message.kind(), message.id(), message.bytes());
    }

    /** The session is over: what is left is kept no longer than its connection takes some of it. That learns of it when it is woken. */
    void hurry(Step step);
}
