package dev.holdfast.log;

import dev.holdfast.SessionLimits;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a session keeps, counted, and the order in which it is dropped: ranks from {@link KeptEvent#CHATTER} up, the oldest of a rank
 * first. Used inside a step.
 */
public final class DropOrder {
    /** The ends of what never had anything; nobody writes into it. */
    private static final @Nullable KeptEvent[] NONE = new @Nullable KeptEvent[2 * KeptEvent.RANKS];

    private final SessionLimits limits;
    private final SharedMemory whole;
    /** The oldest of every rank, then the newest of every rank. */
    private @Nullable KeptEvent[] ends = NONE;

    private long bytes;
    /** Of those that have a rank. */
    private long spareBytes;

    private long held;
    private int events;
    private boolean left;
    /** Whether all sessions together kept too much when this one kept more. */
    private boolean crowds;

    DropOrder(SessionLimits limits, SharedMemory whole) {
        this.limits = limits;
        this.whole = whole;
    }

    /** Counts an event that has its place in the log; it cannot be dropped before it has a rank. */
    void add(KeptEvent node) {
        count(node.size(), 1);
    }

    /** The session ends: what it keeps until its connections have ended counts no more for the node. */
    void leave() {
        tell(-bytes - held, -events);
        left = true;
    }

    /** The session keeps so much more, or less, that is no message for its client. */
    void hold(long moreBytes) {
        held += moreBytes;
        tell(moreBytes, 0);
    }

    private void count(int moreBytes, int moreEvents) {
        bytes += moreBytes;
        events += moreEvents;
        tell(moreBytes, moreEvents);
    }

    private void tell(long moreBytes, long moreEvents) {
        if (!left) {
            boolean full = whole.add(moreBytes, moreEvents);
            crowds |= full && moreBytes > 0;
        }
    }

    /** Whether this session has kept more, since it was asked last, while all sessions together keep too much. */
    boolean crowds() {
        boolean did = crowds;
        crowds = false;
        return did;
    }

    /** Gives a kept event its place in the order of dropping, or takes it out ({@link KeptEvent#HELD}). */
    void rank(KeptEvent node, int rank) {
        if (node.rank == rank || !node.kept) {
            return;
        }
        unlink(node);
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

    /** Forgets an event. */
    void remove(KeptEvent node) {
        unlink(node);
        node.rank = KeptEvent.HELD;
        count(-node.size(), -1);
    }

    /** An event was dropped because a limit asked for it. */
    void dropped() {
        whole.dropped();
    }

    boolean exceeded() {
        return bytes > limits.sessionBytes() || events > limits.sessionEvents();
    }

    boolean exceeded(LiveStream stream) {
        return stream.bytes() > limits.streamBytes() || stream.events() > limits.streamEvents();
    }

    /** The event to drop next, if any may be dropped. */
    Optional<KeptEvent> next() {
        for (int rank = 0; rank < KeptEvent.RANKS; rank++) {
            KeptEvent oldest = ends[rank];
            if (oldest != null) {
                return Optional.of(oldest);
            }
        }
        return Optional.empty();
    }

    /** Of messages. */
    long bytes() {
        return bytes;
    }

    /** Of messages that must not be dropped. */
    long lastingBytes() {
        return bytes - spareBytes;
    }

    /** Of everything that is kept. */
    long weight() {
        return bytes + held;
    }

    int events() {
        return events;
    }

    private void unlink(KeptEvent node) {
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
    }
}
