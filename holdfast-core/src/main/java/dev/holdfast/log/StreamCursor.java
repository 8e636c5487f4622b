package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A cursor over a {@link LiveStream}: one that is written here, or one into which is put what another node has written. To run it is
 * to wake its connection. The write marks belong to the pump alone.
 */
public final class StreamCursor implements StreamReader, Runnable {
    /** The log that a cursor reads. */
    public interface Log {
        /** Makes a decision, then does what it causes. Not called under the lock. */
        <T> T step(Function<Step, T> decision);

        /** The epoch that new events get. */
        Epoch epoch();

        /** The store is told now of what waits for the next append. */
        void hurry(Step step);
    }

    /** What a session does about those who read its streams. What takes no {@link Step} is called without the session's lock. */
    public interface Host {
        /** Somebody has read what was there. */
        default void drained(StreamCursor cursor) {}

        /** Everything up to this offset has surely reached the client of this cursor. */
        void confirmed(StreamCursor cursor, long offset);

        /** The connection of this cursor has ended. */
        void closed(StreamCursor cursor, Close how);

        /** A client missed something on a stream. */
        void missed(StreamId stream);

        /** The start of the session's id, for the log. */
        String shortId();
    }

    /**
     * Where a cursor begins.
     *
     * @param cursor it reads what comes after this
     * @param repeatThrough up to here it reads only unanswered requests to the client: the rest is confirmed
     * @param epoch no event that is there when the cursor comes has a later one
     */
    public record Start(long cursor, long repeatThrough, Epoch epoch) {}

    private static final Logger logger = LoggerFactory.getLogger(StreamCursor.class);
    /** How long after a write another one must begin so that its success says something about the first. */
    private static final long CONFIRMATION_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final Waker NOBODY = new Waker() {
        @Override
        public void wake() {}

        @Override
        public void abort() {}
    };

    private final Host host;
    private final Log log;
    private final LiveStream stream;
    private final long repeatThrough;
    /** No event that is there when the cursor comes has a later epoch. */
    private final Epoch startEpoch;
    /** Whether several nodes write the stream: then its epochs do not grow with its offsets. */
    private final boolean merged;

    private long cursor;
    /** The latest epoch up to the cursor. */
    private Epoch epoch;

    private @Nullable KeptEvent hint;
    /** The end of the stream, which was seen when its last event was read. */
    private @Nullable End last;

    /** How many of the stream's final errors it has read. */
    private int errorsRead;

    private long reportedGap;
    private volatile @Nullable End end;
    private long endAfter;
    private volatile boolean returnable;
    private volatile boolean hurried;
    private volatile Waker waker = NOBODY;

    /** What was read up to the older and the newer mark was written at these times; there is no mark at offset 0. */
    private long olderMark;

    private long olderAt;
    private long newerMark;
    private long newerAt;
    private long confirmed;

    private StreamCursor(Host host, Log log, LiveStream stream, Start start, boolean merged, boolean returnable) {
        this.host = host;
        this.log = log;
        this.stream = stream;
        this.repeatThrough = start.repeatThrough;
        this.startEpoch = start.epoch;
        this.merged = merged;
        this.cursor = start.cursor;
        this.reportedGap = stream.dropped;
        this.epoch = start.epoch;
        this.returnable = returnable;
    }

    /** The first cursor of a call's stream. */
    public static StreamCursor first(Host host, Log log, LiveStream stream) {
        return new StreamCursor(host, log, stream, new Start(0, 0, log.epoch()), false, false);
    }

    /** A cursor that goes on after an offset, which the client has named. */
    public static StreamCursor from(Host host, Log log, LiveStream stream, long cursor) {
        return new StreamCursor(host, log, stream, new Start(cursor, 0, log.epoch()), false, true);
    }

    /** A cursor that repeats what the client still owes an answer to, then goes on after the last confirmed event. */
    public static StreamCursor fromConfirmed(Host host, Log log, LiveStream stream) {
        return new StreamCursor(host, log, stream, new Start(0, stream.confirmed, log.epoch()), false, true);
    }

    /** A cursor over what other nodes write. */
    public static StreamCursor elsewhere(Host host, Log log, LiveStream stream, Start start) {
        return new StreamCursor(host, log, stream, start, stream.listening, true);
    }

    public LiveStream stream() {
        return stream;
    }

    public long cursor() {
        return cursor;
    }

    /** How far its client is, as far as it may be told. */
    public long reached() {
        return Math.max(cursor, repeatThrough);
    }

    @Override
    public String position() {
        return EventId.text(stream.id, epoch, reached());
    }

    @Override
    public String position(Event event) {
        long offset = event.offset();
        if (offset == Event.UNPLACED) {
            return "";
        }
        if (merged) {
            return EventId.text(stream.id, epoch, Math.max(offset, repeatThrough));
        }
        return offset > repeatThrough
                ? EventId.text(stream.id, event.epoch(), offset)
                : EventId.text(stream.id, startEpoch, repeatThrough);
    }

    @Override
    public void positionTold() {
        returnable = true;
    }

    @Override
    public void wakeWith(Waker next) {
        waker = next;
    }

    @Override
    public void run() {
        End now = end;
        try {
            if (now != null && now.reason() == EndReason.SUPERSEDED) {
                waker.abort();
            } else if (hurried) {
                waker.hurry();
            } else {
                waker.wake();
            }
        } catch (RuntimeException e) {
            logger.error("session {}: a connection could not be woken", host.shortId(), e);
        }
    }

    @Override
    public boolean recorded() {
        return stream.recorded()
                || log.<Boolean>step(step -> {
                    boolean known = known();
                    if (!known) {
                        log.hurry(step);
                    }
                    return known;
                })
                || log.<Boolean>step(step -> known());
    }

    /** Of a stream that has ended without an event there is nothing to come back for; one that the store did not take was never told. */
    private boolean known() {
        return stream.recorded() || (stream.ended().isPresent() && !refused());
    }

    /** Whether the store has not taken the stream: its client cannot come back to it. */
    public boolean refused() {
        End now = end;
        return now != null && now.reason() == EndReason.STORE_FAILED;
    }

    @Override
    public Next read(int maxBytes) {
        End known = last;
        if (known != null && end == null) {
            return known;
        }
        Next next = log.step(step -> {
            End now = end;
            if (now != null && cursor >= endAfter) {
                return now;
            }
            if (stream.dropped > Math.max(reportedGap, reached())) {
                step.then(() -> host.missed(stream.id));
            }
            reportedGap = stream.dropped;
            Next found = take(maxBytes);
            return now != null && found == Rest.REST ? now : found;
        });
        host.drained(this);
        return next;
    }

    private Next take(int maxBytes) {
        List<Event> found = List.of();
        long room = maxBytes;
        KeptEvent node = stream.after(cursor, hint);
        while (node != null && node.committed() && (found.isEmpty() || node.event.bytes().length <= room)) {
            Event event = node.event;
            hint = node;
            cursor = event.offset();
            epoch = event.epoch().counter() > epoch.counter() ? event.epoch() : epoch;
            boolean done = node.kind == EventKind.PING ? node.settled : node.answered;
            if (!done && (cursor > repeatThrough || node.unanswered())) {
                room -= event.bytes().length;
                found = plus(found, event);
            }
            node = node.next;
        }
        if (!found.isEmpty()) {
            returnable = true;
            last = stream.endsAt(cursor) && stream.finalErrors.isEmpty() ? ended() : null;
            return new Events(found);
        }
        if (!stream.complete()) {
            return Rest.REST;
        }
        cursor = Math.max(cursor, stream.last);
        return errorsRead < stream.finalErrors.size()
                ? new Events(List.of(unplaced(stream.finalErrors.get(errorsRead++))))
                : ended();
    }

    /** What the client is told without a place in the stream. */
    private Event unplaced(OutboundMessage message) {
        return new Event(stream.id, epoch, Event.UNPLACED, message.kind(), message.id(), message.bytes());
    }

    private End ended() {
        return new End(stream.ended().orElseThrow(), Optional.empty());
    }

    private static List<Event> plus(List<Event> found, Event event) {
        if (found.isEmpty()) {
            return List.of(event);
        }
        List<Event> grown = found instanceof ArrayList ? found : new ArrayList<>(found);
        grown.add(event);
        return grown;
    }

    /**
     * All that was read has been written. What was written before a write that began at least 100 ms later, and was completed too, has
     * surely reached the client.
     */
    @Override
    public void wrote(long began, long completed) {
        long now = 0;
        if (newerMark > 0 && began - newerAt >= CONFIRMATION_NANOS) {
            now = newerMark;
            olderMark = 0;
            newerMark = 0;
        } else if (olderMark > 0 && began - olderAt >= CONFIRMATION_NANOS) {
            now = olderMark;
            olderMark = newerMark;
            olderAt = newerAt;
            newerMark = 0;
        }
        confirmed = Math.max(confirmed, now);
        long read = reached();
        if (read > Math.max(confirmed, Math.max(olderMark, newerMark))) {
            if (olderMark == 0) {
                olderMark = read;
                olderAt = completed;
            } else {
                newerMark = read;
                newerAt = completed;
            }
        }
        if (now > 0) {
            host.confirmed(this, now);
        }
    }

    @Override
    public void close(Close how) {
        host.closed(this, how);
    }

    /** Ends the reading at once, as for a newer reader. The connection learns of it when it is woken. */
    public void supersede(Step step) {
        endAfter = cursor;
        end = new End(EndReason.SUPERSEDED, Optional.empty());
    }

    /** The store has not taken the stream, whose client must not come back to it, whoever has asked for that. */
    public void refuse(Step step) {
        endAfter = cursor;
        end = new End(EndReason.STORE_FAILED, Optional.empty());
    }

    /**
     * Ends the reading after what is committed now. A stream that is complete has an end of its own, and a client that could not
     * come back is not sent away. The connection learns of it when it is woken.
     */
    public void end(EndReason reason, Optional<Duration> retry, Step step) {
        boolean stays = reason == EndReason.POLLING && !returnable && stream.committed == 0;
        if (end == null && !stays && !stream.complete()) {
            endAfter = stream.committed;
            end = new End(reason, retry);
        }
    }

    /** The session is over: what is left is kept no longer than its connection takes some of it. That learns of it when it is woken. */
    public void hurry(Step step) {
        hurried = true;
    }

    /** How many messages are kept that it has not read. */
    public long waiting() {
        return stream.keptAfter(reached());
    }

    /** Whether it has read everything its stream will ever carry. */
    public boolean atEnd() {
        return stream.endsAt(cursor);
    }
}
