package dev.holdfast.log;

import dev.holdfast.Lifetime;
import dev.holdfast.SessionLimits;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is kept of a session's streams, and what goes when a limit asks for it, when its client has it, or when it is old.
 *
 * <p>Events are dropped in the order of their ranks, from {@link KeptEvent#CHATTER} up, the oldest of a rank first. A complete stream
 * is forgotten as a whole: one that was delivered as soon as there are too many of those, or after the lifetime's retention; one of
 * an earlier life, of whose delivery nobody knows, after the grace period if that is longer.
 */
public final class Retention {
    /** The ends of the ranks before anything has one; nobody writes into it. */
    private static final @Nullable KeptEvent[] NONE = new @Nullable KeptEvent[2 * KeptEvent.RANKS];

    /** Delivered streams, kept for a client that was asleep, take at most this part of what the session may keep. */
    private static final int DELIVERED_PART = 8;

    private final Streams streams;
    private final SessionLimits limits;
    private final Lifetime lifetime;
    private final EngineClock clock;
    private final StreamSetting.NodeTotal total;
    private final Outbox outbox;
    private final Tombstones tombstones;
    private final SessionLog.Owner owner;
    private final boolean forgetful;

    /** The oldest of every rank, then the newest of every rank. */
    private @Nullable KeptEvent[] ends = NONE;

    private int events;
    private long bytes;
    /** Of events that have a rank. */
    private long spareBytes;
    /** Of what is no message for the client. */
    private long held;

    private boolean left;
    /** Whether all sessions together kept too much when this one last kept more. */
    private boolean crowds;

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
    Retention(
            Streams streams,
            StreamSetting setting,
            Lifetime lifetime,
            SessionLog log,
            Tombstones tombstones,
            boolean forgetful) {
        this.streams = streams;
        this.limits = setting.limits();
        this.clock = setting.clock();
        this.total = setting.total();
        this.lifetime = lifetime;
        this.outbox = log.outbox();
        this.owner = log.owner();
        this.tombstones = tombstones;
        this.forgetful = forgetful;
    }

    /** Counts a committed event, and ranks it. */
    void keep(KeptEvent node, Step step) {
        count(node.size(), 1);
        rank(node, node.firstRank());
        if (node.stream.listening() && EventKind.answers(node.event.kind())) {
            unconfirmed.addLast(node);
        }
    }

    private void count(int moreBytes, int moreEvents) {
        bytes += moreBytes;
        events += moreEvents;
        tell(moreBytes, moreEvents);
    }

    private void tell(long moreBytes, long moreEvents) {
        if (!left) {
            boolean full = total.add(moreBytes, moreEvents);
            crowds |= full && moreBytes > 0;
        }
    }

    /** The session keeps so many bytes more, or fewer, that are no message for its client. */
    public void hold(long moreBytes, Step step) {
        held += moreBytes;
        tell(moreBytes, 0);
    }

    /** The session ends: what it keeps until its connections have ended no longer counts for the node. */
    public void leave(Step step) {
        tell(-bytes - held, -events);
        left = true;
    }

    /** Whether the session has kept more, since this was asked last, while all sessions together keep too much. */
    public boolean crowds(Step step) {
        boolean did = crowds;
        crowds = false;
        return did;
    }

    /** Gives a kept event its place in the order of dropping, or takes it out ({@link KeptEvent#HELD}). */
    private void rank(KeptEvent node, int rank) {
        if (node.rank == rank || !node.kept) {
            return;
        }
        unrank(node);
        node.rank = rank;
        if (rank == KeptEvent.HELD) {
            return;
        }
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
        spareBytes += node.size();
        node.stream.ranked(rank, 1);
    }

    private void unrank(KeptEvent node) {
        if (node.rank == KeptEvent.HELD) {
            return;
        }
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
        spareBytes -= node.size();
        node.stream.ranked(node.rank, -1);
        node.rank = KeptEvent.HELD;
    }

    /**
     * Drops what the session's limit asks for.
     *
     * @return false if what must not be dropped exceeds it
     */
    public boolean makeRoom(Step step) {
        while (bytes > limits.sessionBytes() || events > limits.sessionEvents()) {
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
    void shorten(LiveStream stream, Step step) {
        while (stream.bytes() > limits.streamBytes() || stream.events() > limits.streamEvents()) {
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
        if (committed(node)) {
            unrank(node);
            count(-node.size(), -1);
            outbox.trim(node.stream.id(), node.event.offset(), step);
        }
        node.stream.drop(node, step);
        RequestId id = node.event.id();
        if (id != null && EventKind.asks(node.event.kind())) {
            owner.questionDropped(id, step);
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
        abandoned(question);
        shorten(question.stream, step);
    }

    private void abandoned(KeptEvent question) {
        question.left = true;
        rankAgain(question);
    }

    private void rankAgain(KeptEvent node) {
        if (committed(node)) {
            rank(node, node.firstRank());
        }
    }

    private static boolean committed(KeptEvent node) {
        return node.event.offset() <= node.stream.committed();
    }

    /** Nobody knows whether its client has everything of this stream: from here on it may be dropped where room is needed. */
    public void doubt(LiveStream stream, long now, Step step) {
        spare(stream, step);
        doubtful.addLast(new Finished(stream, now));
    }

    /** Everything on this stream was delivered as far as we can know: from here on it may be dropped. */
    void finish(LiveStream stream, long now, Step step) {
        spare(stream, step);
        delivered.addLast(new Finished(stream, now));
        deliveredBytes += stream.bytes();
        forgetAll(this::surplus, step);
    }

    private void spare(LiveStream stream, Step step) {
        stream.finish(step);
        for (KeptEvent node = stream.head(); node != null; node = node.next) {
            if (EventKind.answers(node.event.kind())) {
                rank(node, KeptEvent.FINISHED);
            } else if (node.unanswered()) {
                abandoned(node);
            }
        }
        shorten(stream, step);
    }

    /** The client has come back to a stream that seemed delivered: its responses must not be dropped before they are. */
    public void reopen(LiveStream stream, Step step) {
        if (!stream.finished()) {
            return;
        }
        stream.reopen(step);
        unfinish(stream);
        for (KeptEvent node = stream.head(); node != null; node = node.next) {
            if (EventKind.answers(node.event.kind())) {
                rank(node, KeptEvent.HELD);
            }
        }
    }

    private void unfinish(LiveStream stream) {
        if (remove(delivered, stream)) {
            deliveredBytes -= stream.bytes();
        } else {
            remove(doubtful, stream);
        }
    }

    /** Takes a stream away, which mostly is the first. */
    private static boolean remove(LazyQueue<Finished> queue, LiveStream stream) {
        Optional<Finished> first = queue.first().filter(entry -> entry.stream == stream);
        if (first.isPresent()) {
            return queue.takeFirst().isPresent();
        }
        Optional<Finished> found =
                queue.stream().filter(entry -> entry.stream == stream).findFirst();
        found.ifPresent(queue::remove);
        return found.isPresent();
    }

    /** A delivered stream that is one too many; the newest is none for its size. */
    private Optional<Finished> surplus() {
        long mostBytes = limits.sessionBytes() / DELIVERED_PART;
        if (deliveredBytes > mostBytes) {
            deliveredBytes =
                    delivered.stream().mapToLong(entry -> entry.stream.bytes()).sum();
        }
        boolean tooMuch = deliveredBytes > mostBytes && delivered.size() > 1;
        return tooMuch || delivered.size() > limits.finishedStreams() ? delivered.first() : Optional.empty();
    }

    /** Forgets the complete streams that were kept for long enough; true if there was one. */
    public boolean sweep(long now, Step step) {
        long retention = lifetime.retentionNanos();
        long doubtfulNanos = Math.max(retention, lifetime.graceNanos());
        return forgetAll(() -> old(delivered, retention, now).or(() -> old(doubtful, doubtfulNanos, now)), step);
    }

    private Optional<Finished> old(LazyQueue<Finished> queue, long nanos, long now) {
        return queue.first().filter(entry -> clock.passed(nanos, entry.at, now));
    }

    private boolean forgetAll(Supplier<Optional<Finished>> next, Step step) {
        boolean found = false;
        for (Optional<Finished> one = next.get(); one.isPresent(); one = next.get()) {
            forget(one.get().stream, step);
            found = true;
        }
        return found;
    }

    private void forget(LiveStream stream, Step step) {
        unfinish(stream);
        streams.remove(stream, step);
        hold(tombstones.add(stream), step);
        for (KeptEvent node = stream.head(); node != null; node = stream.head()) {
            remove(node, step);
        }
    }

    /** Everything up to here has surely reached the client: from here on, responses on the listening stream may be dropped. */
    public void confirm(LiveStream stream, long through, Step step) {
        stream.confirm(through, step);
        if (!stream.listening()) {
            return;
        }
        Optional<KeptEvent> next = unconfirmed.first();
        while (next.isPresent() && next.get().event.offset() <= stream.confirmed()) {
            unconfirmed.takeFirst();
            rank(next.get(), KeptEvent.SETTLED);
            next = unconfirmed.first();
        }
        if (forgetful) {
            dropThrough(stream, stream.confirmed(), step);
        } else {
            shorten(stream, step);
        }
    }

    /** The client has everything up to here: what nobody can ask for again is released. */
    public void release(LiveStream stream, long through, Step step) {
        confirm(stream, through, step);
        if (!stream.listening() && stream.endsAt(through)) {
            forget(stream, step);
        } else {
            dropThrough(stream, Math.min(through, stream.committed()), step);
        }
    }

    /** Drops what the client has; on a call's stream its responses stay, for they are the stream's end. */
    private void dropThrough(LiveStream stream, long through, Step step) {
        KeptEvent node = stream.head();
        while (node != null && node.event.offset() <= through) {
            KeptEvent next = node.next;
            boolean response = EventKind.answers(node.event.kind()) && !stream.listening();
            if (!node.answerable() && !response && !stream.spares(node)) {
                drop(node, step);
            }
            node = next;
        }
    }

    /** Nobody who comes back shall find this on the listening stream. */
    public void forget(KeptEvent node, Step step) {
        if (node.kept && committed(node)) {
            remove(node, step);
        }
    }

    /** Whether a response on the listening stream waits for a client that has not got it, as far as we know. */
    boolean owes(LiveStream listening) {
        long had = listening.reader().map(StreamCursor::cursor).orElse(listening.confirmed());
        return unconfirmed.last().filter(last -> last.event.offset() > had).isPresent();
    }

    /** Of messages. */
    public long bytes() {
        return bytes;
    }

    /** Of messages that must not be dropped. */
    long lastingBytes() {
        return bytes - spareBytes;
    }

    /** Of everything that is kept. */
    public long weight() {
        return bytes + held;
    }

    public int events() {
        return events;
    }
}
