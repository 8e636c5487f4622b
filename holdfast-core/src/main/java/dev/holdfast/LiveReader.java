package dev.holdfast;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A cursor over a {@link LiveStream}. The cursor moves under the session's lock; the marks belong to the pump alone. */
final class LiveReader implements StreamReader, Runnable {
    private static final Logger logger = LoggerFactory.getLogger(LiveReader.class);
    /** How long after a write another one must begin so that its success says something about the first. */
    static final long CONFIRMATION_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final LiveSession session;
    private final LiveStream stream;
    /** Up to here only unanswered requests to the client are read: the rest is confirmed. */
    private final long repeatThrough;
    /** No event that is there when the reader comes has a later epoch. */
    private final Epoch attachedIn;

    private long cursor;
    /** The latest epoch up to the cursor. */
    private Epoch epoch;

    private @Nullable Node hint;
    private long reportedGap;
    private volatile @Nullable End end;
    private long endAfter;
    private volatile boolean returnable;
    private volatile Waker waker = new Waker() {
        @Override
        public void wake() {}

        @Override
        public void abort() {}
    };
    private Epoch prefixEpoch;
    private String prefix;

    private long confirmed;
    private Mark older = Mark.NONE;
    private Mark newer = Mark.NONE;

    /** Read up to {@code offset}, and written at {@code at}. */
    private record Mark(long offset, long at) {
        static final Mark NONE = new Mark(0, 0);

        boolean confirmedBy(long began) {
            return offset > 0 && began - at >= CONFIRMATION_NANOS;
        }
    }

    private LiveReader(
            LiveSession session, LiveStream stream, long cursor, long repeatThrough, Epoch epoch, boolean returnable) {
        this.session = session;
        this.stream = stream;
        this.cursor = cursor;
        this.repeatThrough = repeatThrough;
        this.reportedGap = stream.dropped();
        this.attachedIn = epoch;
        this.epoch = epoch;
        this.prefixEpoch = epoch;
        this.prefix = EventId.prefix(stream.id(), epoch);
        this.returnable = returnable;
    }

    /** The first reader of a call's stream. */
    static LiveReader first(LiveSession session, LiveStream stream, Epoch epoch) {
        return new LiveReader(session, stream, 0, 0, epoch, false);
    }

    /** A reader that goes on after an offset, which the client has named. */
    static LiveReader from(LiveSession session, LiveStream stream, long cursor, Epoch epoch) {
        return new LiveReader(session, stream, cursor, 0, epoch, true);
    }

    /** A reader that repeats what the client still owes an answer to, then goes on after the last confirmed event. */
    static LiveReader fromConfirmed(LiveSession session, LiveStream stream, Epoch epoch) {
        return new LiveReader(session, stream, 0, stream.confirmed(), epoch, true);
    }

    LiveStream stream() {
        return stream;
    }

    @Override
    public String position() {
        return position(epoch, Math.max(cursor, repeatThrough));
    }

    @Override
    public String position(Event event) {
        return event.offset() > repeatThrough
                ? position(event.epoch(), event.offset())
                : position(attachedIn, repeatThrough);
    }

    private String position(Epoch at, long offset) {
        if (!at.equals(prefixEpoch)) {
            prefixEpoch = at;
            prefix = EventId.prefix(stream.id(), at);
        }
        return EventId.text(prefix, offset);
    }

    @Override
    public void positionTold() {
        returnable = true;
    }

    @Override
    public void wakeWith(Waker waker) {
        this.waker = waker;
    }

    /** Wakes the connection; called without the lock. */
    @Override
    public void run() {
        End now = end;
        try {
            if (now != null && now.reason() == EndReason.SUPERSEDED) {
                waker.abort();
            } else {
                waker.wake();
            }
        } catch (RuntimeException e) {
            logger.error("session {}: a connection could not be woken", session.shortId(), e);
        }
    }

    @Override
    public boolean recorded() {
        if (!known()) {
            session.drain();
        }
        return known();
    }

    /** Of a stream that has ended without an event there is nothing to come back for. */
    private boolean known() {
        return session.locked(() -> stream.recorded() || stream.ended().isPresent());
    }

    @Override
    public Next read(int maxBytes) {
        boolean missed;
        Next next;
        session.lock();
        try {
            End now = end;
            if (now != null && cursor >= endAfter) {
                return now;
            }
            missed = stream.dropped() > Math.max(reportedGap, Math.max(cursor, repeatThrough));
            reportedGap = stream.dropped();
            next = take(maxBytes);
            if (now != null && next == Rest.REST) {
                return now;
            }
        } finally {
            session.unlock();
        }
        if (missed) {
            session.attachments().reportGap(stream);
        }
        return next;
    }

    private Next take(int maxBytes) {
        List<Event> found = List.of();
        long room = maxBytes;
        while (true) {
            Optional<Node> candidate = stream.after(cursor, hint);
            if (candidate.isEmpty()) {
                break;
            }
            Node node = candidate.get();
            int length = node.event.bytes().length;
            if (!found.isEmpty() && length > room) {
                break;
            }
            hint = node;
            cursor = node.event.offset();
            epoch = node.event.epoch().counter() > epoch.counter() ? node.event.epoch() : epoch;
            if (wanted(node)) {
                room -= length;
                found = plus(found, node.event);
            }
        }
        if (!found.isEmpty()) {
            returnable = true;
            return new Events(found);
        }
        if (stream.complete()) {
            cursor = stream.last();
            return new End(stream.ended().orElseThrow(), Optional.empty());
        }
        return Rest.REST;
    }

    private boolean wanted(Node node) {
        boolean done = node.event.kind() == EventKind.PING ? node.settled : node.answered;
        return !done && (node.event.offset() > repeatThrough || LiveStream.unanswered(node));
    }

    private static List<Event> plus(List<Event> found, Event event) {
        if (found.isEmpty()) {
            return List.of(event);
        }
        List<Event> grown = found instanceof ArrayList ? found : new ArrayList<>(found);
        grown.add(event);
        return grown;
    }

    @Override
    public void wrote(long began, long completed) {
        if (newer.confirmedBy(began)) {
            confirm(newer.offset);
            older = Mark.NONE;
            newer = Mark.NONE;
        } else if (older.confirmedBy(began)) {
            confirm(older.offset);
            older = newer;
            newer = Mark.NONE;
        }
        if (cursor > Math.max(confirmed, Math.max(older.offset, newer.offset))) {
            Mark mark = new Mark(cursor, completed);
            if (older.offset == 0) {
                older = mark;
            } else {
                newer = mark;
            }
        }
    }

    private void confirm(long offset) {
        confirmed = offset;
        session.attachments().confirm(this, offset);
    }

    @Override
    public void close(Close how) {
        session.attachments().close(this, how);
    }

    /** Ends the reading, as for a newer reader, at once; under the lock. The connection learns of it when it is woken. */
    void supersede() {
        endAfter = cursor;
        end = new End(EndReason.SUPERSEDED, Optional.empty());
    }

    /**
     * Ends the reading after what is committed now; under the lock. A stream that is complete has an end of its own, and a
     * client that could not come back is not sent away. The connection learns of it when it is woken.
     */
    void end(EndReason reason, Optional<Duration> retry) {
        boolean stays = reason == EndReason.POLLING && !returnable && stream.committed() == 0;
        if (end == null && !stays && !stream.complete()) {
            endAfter = stream.committed();
            end = new End(reason, retry);
        }
    }

    /** How far this reader has read, under the lock. */
    long cursor() {
        return cursor;
    }

    /** Whether this reader has read everything its stream will ever carry, under the lock. */
    boolean atEnd() {
        return stream.endsAt(cursor);
    }
}
