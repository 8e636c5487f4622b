package dev.holdfast.log;

import dev.holdfast.EventId;
import dev.holdfast.Lifetime;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The streams of a session, and what is kept of them: what goes when a limit asks for it, when its client has it, or when it is old.
 *
 * <p>Events are dropped in the order of their ranks, from {@link KeptEvent#CHATTER} up, the oldest of a rank first. A complete stream
 * is forgotten as a whole: one that was delivered as soon as there are too many of those, or after the lifetime's retention; one of
 * an earlier life, of whose delivery nobody knows, after the grace period if that is longer.
 */
public final class Streams {
    /** The ends of the ranks of a session that has ranked nothing yet; shared, and never written. */
    private static final @Nullable KeptEvent[] NONE = new @Nullable KeptEvent[2 * KeptEvent.RANKS];

    /** Delivered streams, kept for a client that was asleep, take at most this part of what the session may keep. */
    private static final int DELIVERED_PART = 8;

    /** Which part of what a session may keep large responses leave to all other messages. */
    private static final int SMALL_PART = 64;

    private static final int CROWDED_PART = 4;

    private final long streamBytes;
    private final int streamEvents;
    private final long sessionBytes;
    private final int sessionEvents;
    private final int finishedStreams;
    private final Lifetime lifetime;
    private final EngineClock clock;
    private final StreamSetting.NodeTotal total;
    private final Epochs epochs;
    private final Outbox outbox;
    private final SessionLog.Owner owner;
    private final Tombstones tombstones;
    private final boolean forgetful;

    private final LiveStream listening = new LiveStream(StreamId.LISTENING, 0);
    private Map<StreamId, LiveStream> ofCalls = Collections.emptyMap();
    private long lastNumber;

    private long uncommittedBytes;
    /** Of those that must not be dropped once they are committed. */
    private long uncommittedLastingBytes;

    private int uncommittedEvents;

    private int events;
    private long bytes;
    /** Of events that have a rank. */
    private long spareBytes;
    /** Of what is no message for the client. */
    private long held;
    /** The oldest of every rank, then the newest of every rank. */
    private @Nullable KeptEvent[] ends = NONE;

    private boolean counts = true;

    /** The responses on the listening stream that are not confirmed, in order. */
    private final LazyQueue<KeptEvent> unconfirmed = new LazyQueue<>();

    private final LazyQueue<Finished> delivered = new LazyQueue<>();
    private final LazyQueue<Finished> doubtful = new LazyQueue<>();
    /** At least what the delivered streams have: what they lose meanwhile is counted when it matters. */
    private long deliveredBytes;

    private record Finished(LiveStream stream, long at) {}

    /**
     * @param forgetful whether nobody can come back to the listening stream: what is confirmed is not kept
     */
    public Streams(StreamSetting setting, Lifetime lifetime, SessionLog log, boolean forgetful) {
        SessionLimits limits = setting.limits();
        this.streamBytes = limits.streamBytes();
        this.streamEvents = limits.streamEvents();
        this.sessionBytes = limits.sessionBytes();
        this.sessionEvents = limits.sessionEvents();
        this.finishedStreams = limits.finishedStreams();
        this.lifetime = lifetime;
        this.clock = setting.clock();
        this.total = setting.total();
        this.epochs = log.epochs();
        this.outbox = log.outbox();
        this.owner = log.owner();
        this.tombstones = new Tombstones(setting.messages());
        this.forgetful = forgetful;
    }

    // which there are

    public LiveStream listening() {
        return listening;
    }

    public Optional<LiveStream> find(StreamId id) {
        return Optional.ofNullable(id.equals(StreamId.LISTENING) ? listening : ofCalls.get(id));
    }

    public List<LiveStream> all() {
        List<LiveStream> all = new ArrayList<>(ofCalls.size() + 1);
        all.add(listening);
        all.addAll(ofCalls.values());
        return all;
    }

    /** A name that no stream has or had. */
    public StreamId nextId(Step step) {
        return id(++lastNumber);
    }

    /** The name of a stream that begins now under a number of its own. */
    public StreamId id(long number) {
        return new StreamId(epochs.present.counter(), number);
    }

    public void open(LiveStream stream, Step step) {
        if (ofCalls.isEmpty()) {
            ofCalls = new HashMap<>();
        }
        ofCalls.put(stream.id, stream);
    }

    private boolean isOpen(LiveStream stream) {
        return ofCalls.get(stream.id) == stream;
    }

    /** The call of this stream does not start: unless it was {@link #open opened}, nobody reads what is on its way to it. */
    public void abandon(LiveStream stream, Step step) {
        stream.abandoned |= !stream.listening && !isOpen(stream);
    }

    /** Takes back what the store has kept of a stream that nobody has seen yet. */
    public LiveStream restore(StreamId id, List<Event> kept, SessionStore.Extent extent, Step step) {
        LiveStream stream = id.equals(StreamId.LISTENING) ? listening : new LiveStream(id, 0);
        stream.restore(kept, extent, step);
        if (stream != listening) {
            open(stream, step);
        }
        for (KeptEvent node = stream.head; node != null; node = node.next) {
            keep(node, step);
        }
        return stream;
    }

    /** What answers a client that asks for a forgotten stream; empty if there never was such a stream, or too long ago. */
    public Optional<LiveStream> afterlife(EventId cursor, Step step) {
        return tombstones.afterlife(cursor, epochs.present, step);
    }

    // what is on its way into the log

    public KeptEvent assign(LiveStream stream, OutboundMessage message, Step step) {
        KeptEvent event = outbox.places && stream.listening
                ? stream.unplaced(message, epochs.present, step)
                : stream.assign(message, epochs.present, step);
        uncommitted(event, 1);
        return event;
    }

    private void uncommitted(KeptEvent event, int change) {
        uncommittedBytes += (long) change * event.size;
        uncommittedLastingBytes += event.lasting() ? (long) change * event.size : 0;
        uncommittedEvents += change;
    }

    /** Whether as much is on its way to the store as a session may hold. */
    public boolean overdue() {
        return uncommittedBytes >= sessionBytes || uncommittedEvents >= sessionEvents;
    }

    /**
     * Whether a response finds room beside what must not be dropped, as it must not itself until it is delivered. Those up to {@link
     * #SMALL_PART} always do: the session ends where they are too many.
     */
    public boolean hasRoomFor(OutboundMessage response) {
        int size = KeptEvent.size(response.bytes());
        return size <= sessionBytes / SMALL_PART
                || bytes - spareBytes + uncommittedLastingBytes + size <= mostLargeBytes();
    }

    /** Whether so much is kept that what follows may find no room. */
    public boolean crowded() {
        return bytes - spareBytes > sessionBytes / CROWDED_PART;
    }

    /** How many bytes of messages a large response may complete. */
    public long mostLargeBytes() {
        return sessionBytes - sessionBytes / SMALL_PART;
    }

    public void rollback(KeptEvent event, Step step) {
        uncommitted(event, -1);
        event.stream.rollback(event, step);
    }

    /**
     * Makes an event readable, and drops what the limits then ask for.
     *
     * @return false if what must not be dropped exceeds the session's limit
     */
    public boolean commit(KeptEvent event, Step step) {
        LiveStream stream = event.stream;
        uncommitted(event, -1);
        if (!stream.abandoned) {
            stream.commit(event, step);
            if (event.kept) {
                keep(event, step);
                shorten(stream, step);
                return makeRoom(step);
            }
        }
        outbox.trim(stream.id, event.event.offset(), step);
        return true;
    }

    // what is kept

    /** Of messages. */
    public long bytes() {
        return bytes;
    }

    /** Of everything that is kept. */
    public long weight() {
        return bytes + held;
    }

    public int events() {
        return events;
    }

    /** The session keeps so many bytes more, or fewer, that are no message for its client. */
    public void hold(long moreBytes, Step step) {
        held += moreBytes;
        tell(moreBytes, 0, step);
    }

    /** The session ends: what it keeps until its connections have ended no longer counts for the node. */
    public void stopCounting(Step step) {
        tell(-bytes - held, -events, step);
        counts = false;
    }

    private void tell(long moreBytes, long moreEvents, Step step) {
        if (counts && total.add(moreBytes, moreEvents) && moreBytes > 0) {
            step.crowd();
        }
    }

    /** Counts a committed event, and ranks it. */
    private void keep(KeptEvent node, Step step) {
        bytes += node.size;
        events++;
        tell(node.size, 1, step);
        rank(node, node.firstRank());
        if (node.response && node.stream.listening) {
            unconfirmed.addLast(node);
        }
    }

    /** Gives a kept event its place in the order of dropping, or takes it out ({@link KeptEvent#HELD}). */
    private void rank(KeptEvent node, byte rank) {
        if (node.rank == rank || !node.kept) {
            return;
        }
        if (node.rank != KeptEvent.HELD) {
            KeptEvent before = node.older;
            KeptEvent after = node.newer;
            if (before == null) {
                ends[node.rank] = after;
            } else {
                before.newer = after;
            }
            if (after == null) {
                ends[KeptEvent.RANKS + node.rank] = before;
            } else {
                after.older = before;
            }
            node.older = null;
            node.newer = null;
            spareBytes -= node.size;
            node.stream.chatter -= node.rank == KeptEvent.CHATTER ? 1 : 0;
        }
        node.rank = rank;
        if (rank != KeptEvent.HELD) {
            if (ends == NONE) {
                ends = new @Nullable KeptEvent[2 * KeptEvent.RANKS];
            }
            KeptEvent last = ends[KeptEvent.RANKS + rank];
            node.older = last;
            if (last == null) {
                ends[rank] = node;
            } else {
                last.newer = node;
            }
            ends[KeptEvent.RANKS + rank] = node;
            spareBytes += node.size;
            node.stream.chatter += rank == KeptEvent.CHATTER ? 1 : 0;
        }
    }

    private void rankAgain(KeptEvent node) {
        if (node.committed()) {
            rank(node, node.firstRank());
        }
    }

    // what is dropped

    /**
     * Drops what the session's limit asks for.
     *
     * @return false if what must not be dropped exceeds it
     */
    public boolean makeRoom(Step step) {
        while (bytes > sessionBytes || events > sessionEvents) {
            if (!dropNext(step)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Drops until no more is kept than this.
     *
     * @return false if the rest must not be dropped
     */
    public boolean shortenTo(long mostBytes, long mostEvents, Step step) {
        while (weight() > mostBytes || events > mostEvents) {
            if (!dropNext(step)) {
                return false;
            }
        }
        return true;
    }

    private boolean dropNext(Step step) {
        for (int rank = 0; rank < KeptEvent.RANKS; rank++) {
            KeptEvent oldest = ends[rank];
            if (oldest != null) {
                dropForRoom(oldest, step);
                return true;
            }
        }
        return false;
    }

    /** Drops what the limits of one stream ask for. */
    private void shorten(LiveStream stream, Step step) {
        while (stream.bytes > streamBytes || stream.events > streamEvents) {
            Optional<KeptEvent> victim = stream.spare();
            if (victim.isEmpty()) {
                return;
            }
            dropForRoom(victim.get(), step);
        }
    }

    private void dropForRoom(KeptEvent node, Step step) {
        total.dropped();
        drop(node, step);
    }

    private void drop(KeptEvent node, Step step) {
        if (node.rank == KeptEvent.FINISHED) {
            forget(node.stream, step);
        } else {
            remove(node, step);
        }
    }

    private void remove(KeptEvent node, Step step) {
        LiveStream stream = node.stream;
        // a response has one before it is stored where its stream counts as delivered already
        rank(node, KeptEvent.HELD);
        if (node.committed()) {
            bytes -= node.size;
            events--;
            tell(-node.size, -1, step);
            outbox.trim(stream.id, node.event.offset(), step);
        }
        stream.drop(node, step);
        RequestId id = node.event.id();
        if (id != null && EventKind.asks(node.kind)) {
            owner.questionDropped(id, step);
        }
    }

    /** Nobody who comes back, or looks at what is kept, shall find this. */
    public void forget(KeptEvent node, Step step) {
        if (node.kept && node.committed()) {
            remove(node, step);
        }
    }

    private void forget(LiveStream stream, Step step) {
        unfinish(stream);
        ofCalls.remove(stream.id);
        stream.abandoned = true;
        hold(tombstones.add(stream), step);
        for (KeptEvent node = stream.head; node != null; node = stream.head) {
            remove(node, step);
        }
    }

    /** The client has answered, or nobody waits for the answers any more. */
    public void settle(List<KeptEvent> questions, Step step) {
        for (KeptEvent question : questions) {
            question.settled = true;
            rankAgain(question);
        }
        questions.forEach(question -> shorten(question.stream, step));
    }

    /** The call that asked this is over: its answer is still taken, but it need not be asked again. */
    public void abandon(KeptEvent question, Step step) {
        question.left = true;
        rankAgain(question);
        shorten(question.stream, step);
    }

    /** Everything up to here has surely reached the client: from here on, responses on the listening stream may be dropped. */
    public void confirm(LiveStream stream, long through, Step step) {
        stream.confirm(through, step);
        if (!stream.listening) {
            return;
        }
        Optional<KeptEvent> next = unconfirmed.first();
        while (next.isPresent() && next.get().event.offset() <= stream.confirmed) {
            unconfirmed.takeFirst();
            rank(next.get(), KeptEvent.SETTLED);
            next = unconfirmed.first();
        }
        if (forgetful) {
            dropThrough(stream, stream.confirmed, step);
        } else {
            shorten(stream, step);
        }
    }

    /** The client has everything up to here: what nobody can ask for again is released. */
    public void release(LiveStream stream, long through, Step step) {
        confirm(stream, through, step);
        if (!stream.listening && stream.endsAt(through)) {
            forget(stream, step);
        } else {
            dropThrough(stream, Math.min(through, stream.committed), step);
        }
    }

    /** Drops what the client has; on a call's stream its responses stay, for they are the stream's end. */
    private void dropThrough(LiveStream stream, long through, Step step) {
        KeptEvent node = stream.head;
        while (node != null && node.event.offset() <= through) {
            KeptEvent next = node.next;
            boolean end = node.response && !stream.listening;
            if (!end && !node.answerable() && !stream.spares(node)) {
                drop(node, step);
            }
            node = next;
        }
    }

    // what is delivered

    /** Everything on this stream has been delivered as well as we can know: from here on it may be dropped. */
    public void finish(LiveStream stream, long now, Step step) {
        if (stream.listening || stream.finished || !isOpen(stream)) {
            return;
        }
        if (stream.doubted) {
            doubtful.removeFirst(entry -> entry.stream == stream);
        }
        spare(stream, step);
        delivered.addLast(new Finished(stream, now));
        deliveredBytes += stream.bytes;
        while (delivered.size() > finishedStreams
                || (deliveredBytes > sessionBytes / DELIVERED_PART && deliversTooMuch())) {
            forget(delivered.first().orElseThrow().stream, step);
        }
    }

    /** Whether the delivered streams have too many bytes, counted again; the newest is none too many for its size. */
    private boolean deliversTooMuch() {
        deliveredBytes =
                delivered.stream().mapToLong(entry -> entry.stream.bytes).sum();
        return deliveredBytes > sessionBytes / DELIVERED_PART && delivered.size() > 1;
    }

    /**
     * Nobody knows whether its client has everything of this stream: from here on it may be dropped where room is needed, unless
     * somebody may come back for what it has come to.
     */
    public void doubt(LiveStream stream, long now, Step step) {
        if (!stream.isNoted()) {
            spare(stream, step);
        }
        stream.doubted = true;
        doubtful.addLast(new Finished(stream, now));
    }

    private void spare(LiveStream stream, Step step) {
        stream.finished = true;
        for (KeptEvent node = stream.head; node != null; node = node.next) {
            if (node.response) {
                rank(node, KeptEvent.FINISHED);
            } else if (node.unanswered()) {
                node.left = true;
                rankAgain(node);
            }
        }
        shorten(stream, step);
    }

    /** The client has come back to a stream that seemed delivered: its responses must not be dropped before they are. */
    public void reopen(LiveStream stream, Step step) {
        if (!stream.finished && !stream.doubted) {
            return;
        }
        stream.finished = false;
        stream.doubted = false;
        unfinish(stream);
        for (KeptEvent node = stream.head; node != null; node = node.next) {
            if (node.response) {
                rank(node, KeptEvent.HELD);
            }
        }
    }

    private void unfinish(LiveStream stream) {
        if (delivered.removeFirst(entry -> entry.stream == stream)) {
            deliveredBytes -= stream.bytes;
        } else {
            doubtful.removeFirst(entry -> entry.stream == stream);
        }
    }

    /** Forgets the complete streams that were kept for long enough; true if there was one. */
    public boolean sweep(long now, Step step) {
        long retention = lifetime.retentionNanos();
        boolean found = forgetOlder(delivered, retention, now, step);
        return forgetOlder(doubtful, Math.max(retention, lifetime.graceNanos()), now, step) || found;
    }

    private boolean forgetOlder(LazyQueue<Finished> queue, long nanos, long now, Step step) {
        boolean found = false;
        Optional<Finished> oldest = queue.first();
        while (oldest.isPresent() && clock.passed(nanos, oldest.get().at, now)) {
            forget(oldest.get().stream, step);
            found = true;
            oldest = queue.first();
        }
        return found;
    }

    /** Whether a response waits for a client that has not got it, as far as we know. */
    public boolean owing() {
        long had = listening.reader().map(StreamCursor::cursor).orElse(listening.confirmed);
        return unconfirmed.last().filter(last -> last.event.offset() > had).isPresent()
                || ofCalls.values().stream().anyMatch(stream -> stream.end != null && !stream.finished);
    }
}
