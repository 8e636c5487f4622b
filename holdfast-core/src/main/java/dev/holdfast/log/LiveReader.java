package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A cursor over a {@link LiveStream}. The marks belong to the pump alone. */
public final class LiveReader implements StreamReader, StreamCursor {
    /** What a session does about its readers. */
    public interface Host {
        /** Everything up to this offset has surely reached the client of this reader. */
        void confirm(LiveReader reader, long offset);

        /** The connection of this reader has ended. */
        void close(LiveReader reader, Close how);

        /** A client missed something on a stream. */
        void missed(LiveStream stream);

        /** The start of the session's id, for the log. */
        String shortId();
    }

    private static final Logger logger = LoggerFactory.getLogger(LiveReader.class);
    private static final Waker NOBODY = new Waker() {
        @Override
        public void wake() {}

        @Override
        public void abort() {}
    };

    private final Host host;
    private final SessionLog log;
    private final LiveStream stream;
    /** Up to here only unanswered requests to the client are read: the rest is confirmed. */
    private final long repeatThrough;
    /** No event that is there when the reader comes has a later epoch. */
    private final Epoch attachedIn;

    private long cursor;
    /** The latest epoch up to the cursor. */
    private Epoch epoch;

    private @Nullable KeptEvent hint;
    /** The end of the stream, which was seen when its last event was read. */
    private @Nullable End last;

    /** How many of the stream's last words it has read. */
    private int heard;

    private long reportedGap;
    private volatile @Nullable End end;
    private long endAfter;
    private volatile boolean returnable;
    private volatile boolean hurried;
    private volatile Waker waker = NOBODY;

    /** There once something was written of which the end of the connection does not tell. */
    private @Nullable WriteMarks marks;

    private LiveReader(
            Host host, SessionLog log, LiveStream stream, long cursor, long repeatThrough, boolean returnable) {
        Epoch epoch = log.epochs().present();
        this.host = host;
        this.log = log;
        this.stream = stream;
        this.cursor = cursor;
        this.repeatThrough = repeatThrough;
        this.reportedGap = stream.dropped();
        this.attachedIn = epoch;
        this.epoch = epoch;
        this.returnable = returnable;
    }

    /** The first reader of a call's stream. */
    public static LiveReader first(Host host, SessionLog log, LiveStream stream) {
        return new LiveReader(host, log, stream, 0, 0, false);
    }

    /** A reader that goes on after an offset, which the client has named. */
    public static LiveReader from(Host host, SessionLog log, LiveStream stream, long cursor) {
        return new LiveReader(host, log, stream, cursor, 0, true);
    }

    /** A reader that repeats what the client still owes an answer to, then goes on after the last confirmed event. */
    public static LiveReader fromConfirmed(Host host, SessionLog log, LiveStream stream) {
        return new LiveReader(host, log, stream, 0, stream.confirmed(), true);
    }

    public LiveStream stream() {
        return stream;
    }

    @Override
    public String position() {
        return position(epoch, Math.max(cursor, repeatThrough));
    }

    @Override
    public String position(Event event) {
        if (event.offset() == Event.UNPLACED) {
            return "";
        }
        return event.offset() > repeatThrough
                ? position(event.epoch(), event.offset())
                : position(attachedIn, repeatThrough);
    }

    private String position(Epoch at, long offset) {
        return EventId.text(stream.id(), at, offset);
    }

    @Override
    public void positionTold() {
        returnable = true;
    }

    @Override
    public void wakeWith(Waker waker) {
        this.waker = waker;
    }

    /** Wakes the connection. */
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
        if (!stream.recorded() && !log.look(this::known)) {
            log.run(step -> log.outbox().hurry(step));
            return log.look(this::known);
        }
        return true;
    }

    /** Of a stream that has ended without an event there is nothing to come back for; one that the store did not take was never told. */
    private boolean known() {
        End now = end;
        boolean refused = now != null && now.reason() == EndReason.STORE_FAILED;
        return stream.recorded() || (stream.ended().isPresent() && !refused);
    }

    @Override
    public Next read(int maxBytes) {
        End known = last;
        if (known != null && end == null) {
            return known;
        }
        return log.step(step -> {
            End now = end;
            if (now != null && cursor >= endAfter) {
                return now;
            }
            if (stream.dropped() > Math.max(reportedGap, Math.max(cursor, repeatThrough))) {
                step.then(() -> host.missed(stream));
            }
            reportedGap = stream.dropped();
            Next next = take(maxBytes);
            return now != null && next == Rest.REST ? now : next;
        });
    }

    private Next take(int maxBytes) {
        List<Event> found = List.of();
        long room = maxBytes;
        while (true) {
            Optional<KeptEvent> candidate = stream.after(cursor, hint);
            if (candidate.isEmpty()) {
                break;
            }
            KeptEvent node = candidate.get();
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
            last = stream.endsAt(cursor) && stream.lastWords().isEmpty() ? ended() : null;
            return new Events(found);
        }
        if (!stream.complete()) {
            return Rest.REST;
        }
        cursor = stream.last();
        return heard < stream.lastWords().size()
                ? new Events(List.of(StreamCursor.unplaced(
                        stream.id(), epoch, stream.lastWords().get(heard++))))
                : ended();
    }

    private End ended() {
        return new End(stream.ended().orElseThrow(), Optional.empty());
    }

    private boolean wanted(KeptEvent node) {
        boolean done = node.event.kind() == EventKind.PING ? node.settled : node.answered;
        return !done && (node.event.offset() > repeatThrough || node.unanswered());
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
        WriteMarks own = marks == null ? new WriteMarks() : marks;
        marks = own;
        long confirmed = own.wrote(began, completed, cursor);
        if (confirmed != WriteMarks.NOTHING) {
            host.confirm(this, confirmed);
        }
    }

    @Override
    public void close(Close how) {
        host.close(this, how);
    }

    @Override
    public void supersede(Step step) {
        endAfter = cursor;
        end = new End(EndReason.SUPERSEDED, Optional.empty());
    }

    /** The store has not taken the stream, whose client must not come back to it, whoever has asked for that. */
    public void refuse(Step step) {
        endAfter = cursor;
        end = new End(EndReason.STORE_FAILED, Optional.empty());
    }

    @Override
    public void end(EndReason reason, Optional<Duration> retry, Step step) {
        boolean stays = reason == EndReason.POLLING && !returnable && stream.committed() == 0;
        if (end == null && !stays && !stream.complete()) {
            endAfter = stream.committed();
            end = new End(reason, retry);
        }
    }

    @Override
    public void hurry(Step step) {
        hurried = true;
    }

    @Override
    public long cursor() {
        return cursor;
    }

    /** How many messages are kept that it has not read. */
    public long waiting() {
        return stream.keptAfter(Math.max(cursor, repeatThrough));
    }

    /** Whether this reader has read everything its stream will ever carry. */
    public boolean atEnd() {
        return stream.endsAt(cursor);
    }
}
