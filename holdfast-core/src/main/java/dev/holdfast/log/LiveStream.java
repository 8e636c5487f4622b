package dev.holdfast.log;

import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Session;
import dev.holdfast.SessionDescription;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One stream of a session: its events in order, how far they are committed, and who reads them.
 *
 * <h2>Concurrency</h2>
 *
 * Whatever changes a stream asks for the {@link Step} that {@link SessionLog#step} lends. The lock behind it is the only one of the
 * engine, and a leaf: whoever holds it calls neither store, backend, listener nor reader's waker, and takes no other lock; what has
 * to happen without it is collected in the step and done after the release. The session's life is changed by compare-and-set, in
 * a step where the change belongs to a change of streams, and never waits.
 *
 * <p>A message goes through three positions, each of which only grows:
 *
 * <pre>
 *   last       its offset is assigned; it stands in the outbox         (any thread that sends)
 *   committed  the store has acknowledged it; readers may see it       (the one drainer, in order of offsets)
 *   cursor     a reader has taken it, in its own time                  (the one holder of the connection's pump)
 * </pre>
 *
 * A reader that finds nothing after its cursor goes to rest and is woken after the commit has been made visible; since the
 * waker marks the pump before the pump can rest, no wake-up is lost. A stream has at most one reader. A newer one replaces it
 * under the lock, and from then on the older one reads nothing, confirms nothing and its close changes nothing: every method
 * of {@link StreamCursor} first asks whether it is still the one.
 *
 * <p>Dropping is sparse. {@code dropped} is the highest offset that was ever dropped: a cursor below it has missed something,
 * a cursor at or above it has not.
 */
public final class LiveStream {
    /**
     * A response that was committed.
     *
     * @param request what it answers
     * @param offset its place in the stream
     * @param epoch the epoch in which it was appended
     */
    record Answer(RequestId request, long offset, Epoch epoch) {}

    final StreamId id;
    final boolean listening;

    /** The kept events, linked in the order of their offsets. */
    @Nullable KeptEvent head;

    private @Nullable KeptEvent tail;
    long last;
    long committed;
    long dropped;
    long confirmed;
    long bytes;
    int events;
    /** How many of the events have the rank {@link KeptEvent#CHATTER}. */
    int chatter;

    private @Nullable StreamCursor reader;

    @Nullable EndReason end;
    /** What its reader is told before the end though no store has it. */
    List<OutboundMessage> finalErrors = List.of();

    /** Whether the client has surely got everything, or wants nothing more: it may be forgotten when room is needed. */
    boolean finished;
    /** Whether it is of an earlier life, so that nobody knows what its client has of it. */
    boolean doubted;
    /** Whether nobody will ever read it. */
    boolean abandoned;

    private boolean keepsProgress;
    private volatile boolean recorded = true;

    /** A new stream: the store learns of it with its first event, or before its name is told. */
    public static LiveStream begun(StreamId id) {
        LiveStream stream = new LiveStream(id, 0);
        stream.recorded = false;
        return stream;
    }

    /** A stream that begins after {@code last}. */
    LiveStream(StreamId id, long last) {
        this.id = id;
        this.listening = id.equals(StreamId.LISTENING);
        this.last = last;
        this.committed = last;
        this.dropped = last;
    }

    public StreamId id() {
        return id;
    }

    public boolean listening() {
        return listening;
    }

    public long bytes() {
        return bytes;
    }

    public int events() {
        return events;
    }

    public long committed() {
        return committed;
    }

    public long dropped() {
        return dropped;
    }

    public long confirmed() {
        return confirmed;
    }

    /** Gives a message the next offset. */
    KeptEvent assign(OutboundMessage message, Epoch epoch, Step step) {
        return append(new Event(id, epoch, ++last, message.kind(), message.id(), message.bytes()));
    }

    /** Takes a message to which the store gives an offset when it is committed. */
    KeptEvent unplaced(OutboundMessage message, Epoch epoch, Step step) {
        return append(new Event(id, epoch, KeptEvent.UNPLACED, message.kind(), message.id(), message.bytes()));
    }

    /** Takes back what the store has kept of this stream, which nobody has seen yet. */
    void restore(List<Event> kept, SessionStore.Extent extent, Step step) {
        for (Event event : kept) {
            commit(append(event), step);
        }
        last = Math.max(committed, extent.last());
        committed = last;
        dropped = extent.trimmed();
    }

    private KeptEvent append(Event event) {
        KeptEvent node = new KeptEvent(this, event);
        node.previous = tail;
        if (tail == null) {
            head = node;
        } else {
            tail.next = node;
        }
        tail = node;
        return node;
    }

    private void unlink(KeptEvent node) {
        KeptEvent before = node.previous;
        KeptEvent after = node.next;
        if (before == null) {
            head = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            tail = before;
        } else {
            after.previous = before;
        }
        node.previous = null;
        node.next = null;
        node.kept = false;
    }

    /** A stream that others write, and of which nothing is here yet, beginning after an offset. */
    public static LiveStream elsewhere(StreamId id, long last) {
        return new LiveStream(id, last);
    }

    /** Takes an event that another node has written. */
    public void receive(Event event, Step step) {
        commit(append(event), step);
    }

    /** Drops what the reader has read of what others have written: the store keeps it. */
    public void passOn(long through, Step step) {
        for (KeptEvent node = head; node != null && node.event.offset() <= through; node = head) {
            drop(node, step);
        }
    }

    /** Makes an event visible to readers, and counts it. */
    void commit(KeptEvent node, Step step) {
        committed = node.event.offset();
        last = Math.max(last, committed);
        if (node.kept) {
            bytes += node.size;
            events++;
        }
    }

    /** Takes back the last assigned event, which the store does not have; its offset is free again. */
    void rollback(KeptEvent node, Step step) {
        if (node.kept) {
            unlink(node);
        }
        if (node.placed()) {
            last = node.event.offset() - 1;
        }
    }

    /** Others have committed up to here. */
    public void advance(long offset, Step step) {
        committed = Math.max(committed, offset);
        last = Math.max(last, committed);
    }

    /** Forgets an event. Somebody may miss it, unless it was a ping, which tells nothing. */
    void drop(KeptEvent node, Step step) {
        unlink(node);
        if (node.committed()) {
            bytes -= node.size;
            events--;
        }
        if (node.kind != EventKind.PING) {
            dropped = Math.max(dropped, node.event.offset());
        }
    }

    /** Leaves out the offsets before this one. */
    void skipTo(long offset, Step step) {
        last = offset - 1;
    }

    /** Leaves out the offsets that the store may have lost; they count as dropped. */
    public void leaveOut(Step step) {
        last += SessionStore.LEFT_OUT;
        committed = last;
        dropped = last;
    }

    public void record(Step step) {
        recorded = true;
    }

    /** Whether a client that is told its name can come back to it. */
    public boolean recorded() {
        return recorded;
    }

    /** The committed responses, in order. */
    List<Answer> answers() {
        List<Answer> answers = new ArrayList<>(1);
        for (KeptEvent node = head; node != null && node.event.offset() <= committed; node = node.next) {
            RequestId answered = node.event.id();
            if (answered != null && node.response) {
                answers.add(new Answer(answered, node.event.offset(), node.event.epoch()));
            }
        }
        return answers;
    }

    /** Keeps the newest progress: the call may be run again, and must not tell its client less than before. */
    public void keepProgress(Step step) {
        keepsProgress = true;
    }

    /** Whether this is the newest progress of a call that may be run again. */
    boolean spares(KeptEvent node) {
        if (!keepsProgress || node.kind != EventKind.PROGRESS) {
            return false;
        }
        for (KeptEvent later = node.next; later != null; later = later.next) {
            if (later.kind == EventKind.PROGRESS) {
                return false;
            }
        }
        return true;
    }

    /** Whether somebody may come back for what it has come to, whatever its readers had ({@link EventKind#NOTE}). */
    public boolean isNoted() {
        for (KeptEvent node = head; node != null; node = node.next) {
            if (node.kind == EventKind.NOTE) {
                return true;
            }
        }
        return false;
    }

    /** What is committed and kept, but for questions that are answered. */
    public Session.KeptStream asKept() {
        List<Event> kept = new ArrayList<>();
        for (KeptEvent node = head; node != null && node.event.offset() <= committed; node = node.next) {
            if (!node.answered) {
                kept.add(node.event);
            }
        }
        return new Session.KeptStream(kept, complete());
    }

    public @Nullable KeptEvent head() {
        return head;
    }

    /** The first committed event after an offset; {@code hint} is where the caller was last, to save the search. */
    @Nullable KeptEvent after(long offset, @Nullable KeptEvent hint) {
        KeptEvent node = hint != null && hint.kept ? hint.next : head;
        while (node != null && node.event.offset() <= offset) {
            node = node.next;
        }
        return node != null && node.event.offset() <= committed ? node : null;
    }

    /** How many committed events are kept after an offset. */
    long keptAfter(long offset) {
        long count = 0;
        for (KeptEvent node = head; node != null && node.event.offset() <= committed; node = node.next) {
            count += node.event.offset() > offset ? 1 : 0;
        }
        return count;
    }

    /** How far a cursor goes into what is committed: up to the first kept event that its client does not have. */
    public long reach(EventId cursor) {
        KeptEvent node = head;
        while (node != null && cursor.covers(node.event.offset(), node.event.epoch())) {
            node = node.next;
        }
        long had = Math.min(cursor.offset(), committed);
        return node == null ? had : Math.min(had, node.event.offset() - 1);
    }

    /** The event that this stream drops first: the oldest of the lowest rank, but no response, and not its newest event. */
    Optional<KeptEvent> spare() {
        int lowest = chatter > 0 ? KeptEvent.CHATTER : KeptEvent.NOTICE;
        KeptEvent best = null;
        for (KeptEvent node = head; node != null && node.event.offset() < committed; node = node.next) {
            boolean spare = node.rank != KeptEvent.HELD && node.rank != KeptEvent.FINISHED;
            if (spare && (best == null || node.rank < best.rank)) {
                best = node;
                if (best.rank <= lowest) {
                    break;
                }
            }
        }
        return Optional.ofNullable(best);
    }

    /** Everything up to here has surely reached the client. */
    void confirm(long offset, Step step) {
        confirmed = Math.max(confirmed, Math.min(offset, committed));
    }

    public Optional<StreamCursor> reader() {
        return Optional.ofNullable(reader);
    }

    /** Makes this reader the one that reads; returns the one it takes over from. */
    public Optional<StreamCursor> take(StreamCursor next, Step step) {
        Optional<StreamCursor> older = reader();
        reader = next;
        return older;
    }

    /** Ends the reading of this reader; false if it is not the one that reads. */
    public boolean release(StreamCursor leaving, Step step) {
        if (reader != leaving) {
            return false;
        }
        reader = null;
        return true;
    }

    /**
     * Releases the messages of an ended session, unless a connection reads them: no other one can any more. A backend that ends slowly
     * may keep the session itself alive for long.
     */
    public void empty(Step step) {
        for (KeptEvent node = reader == null ? head : null; node != null; node = node.next) {
            node.empty();
        }
    }

    /** No event will follow those assigned so far. */
    public void end(EndReason reason, Step step) {
        if (end == null) {
            end = reason;
        }
    }

    public Optional<EndReason> ended() {
        return Optional.ofNullable(end);
    }

    /** Ends the stream with what is committed: what is still on its way to the store will not be read. */
    public void seal(EndReason reason, Step step) {
        last = committed;
        end(reason, step);
    }

    /** Whoever reads to the end of the stream gets these errors, which have no place in it. */
    public void tellAtEnd(List<OutboundMessage> errors, Step step) {
        if (!errors.isEmpty()) {
            finalErrors = Stream.concat(finalErrors.stream(), errors.stream()).toList();
        }
    }

    /** As it is now, for those who watch a server. */
    public SessionDescription.OfStream described(List<Long> cursors) {
        KeptEvent first = head;
        return new SessionDescription.OfStream(
                id.epoch() + "." + id.number(),
                first != null && first.event.offset() <= committed ? first.event.offset() : committed + 1,
                committed,
                last - committed,
                dropped,
                confirmed,
                events,
                bytes,
                cursors,
                ended());
    }

    /** Whether everything this stream will ever carry is committed. */
    boolean complete() {
        return end != null && committed == last;
    }

    /** Whether a cursor stands behind everything this stream will ever carry. */
    public boolean endsAt(long cursor) {
        return complete() && cursor >= last;
    }
}
