package dev.holdfast.engine;

import dev.holdfast.ByteBudget;
import dev.holdfast.EndReason;
import dev.holdfast.NodeLimits;
import dev.holdfast.log.StreamSetting;
import dev.holdfast.session.LiveSession;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/**
 * What all sessions keep, counted, and who makes room when that is too much: the largest histories are lowered to one level, as
 * water is let out of a lake, so that the small ones lose nothing. The level is never lower than a fair share, the limit over the
 * sessions that keep something. Where a named principal has more than its share of the limit, its sessions alone come down. A session that
 * cannot come down to it, since what it holds must not be dropped, keeps that; if it is too much even so, the sessions that hold most end.
 *
 * <p>Counting is safe for use by any thread, under a lock too; one thread at a time makes room, outside of one.
 */
final class NodeMemory implements StreamSetting.NodeTotal, EngineGroup.Kept {
    /** How much more room is made than is needed, so that it is not needed again at once: this part of the limit. */
    private static final int SLACK = 16;

    private final LiveSessions live;
    private final EngineGroup group;
    private final boolean shares;
    private final int principalShare;
    private final Measure bytes;
    private final Measure events;
    private final LongAdder dropped = new LongAdder();
    private final AtomicBoolean busy = new AtomicBoolean();
    /** Sessions that were ended for what they kept, and whose connections may still write it; for whoever makes room. */
    private final Deque<Share> leaving = new ConcurrentLinkedDeque<>();
    /** Those whose connections were cut, and have not left yet. */
    private final Queue<Share> cut = new ConcurrentLinkedQueue<>();

    /** One of the two things that are counted. */
    private final class Measure {
        private final AtomicLong total = new AtomicLong();
        private final long most;
        private final ToLongFunction<EngineGroup.Kept> kept;
        private final ToLongFunction<LiveSession> share;

        private Measure(long most, ToLongFunction<EngineGroup.Kept> kept, ToLongFunction<LiveSession> share) {
            this.most = most;
            this.kept = kept;
            this.share = share;
        }

        /** What other engines of the process leave of it, or this one's part at least. */
        private long limit() {
            return group.room(NodeMemory.this, most, kept);
        }

        private boolean exceeded() {
            return total.get() > limit();
        }

        private long excess() {
            long limit = limit();
            return total.get() - (limit - limit / SLACK);
        }

        /** What each may keep that keeps something, if all keep the same; those who are being opened have theirs already. */
        private long fair(List<Share> shares) {
            long sum = shares.stream().mapToLong(Share::size).sum();
            return shares.isEmpty() ? 0 : Math.max(0, (sum - excess()) / shares.size());
        }
    }

    /** What a session has of a measure. */
    private record Share(LiveSession session, long size) {}

    /**
     * @param release ends a connection that nobody uses, of a principal, or of any for the empty one, so that another engine has room
     */
    NodeMemory(LiveSessions live, NodeLimits limits, ByteBudget budget, EngineGroup group, Predicate<String> release) {
        this.group = group;
        this.shares = group != EngineGroup.NONE;
        this.live = live;
        this.principalShare = limits.principalShare();
        this.bytes = new Measure(limits.historyBytes(), EngineGroup.Kept::bytes, LiveSession::weight);
        this.events = new Measure(limits.historyEvents(), EngineGroup.Kept::events, LiveSession::events);
        group.join(this, live::size, release);
        budget.count(this, bytes.total::get);
        Queue<Share> ended = leaving;
        Queue<Share> closed = cut;
        budget.count(this, () -> unread(ended) + unread(closed));
    }

    /** Keeps nothing any more. */
    void close() {
        group.leave(this);
        leaving.clear();
        cut.clear();
    }

    @Override
    public boolean add(long moreBytes, long moreEvents) {
        long allBytes = bytes.total.addAndGet(moreBytes);
        long allEvents = events.total.addAndGet(moreEvents);
        return allBytes > bytes.most
                || allEvents > events.most
                || (shares && (allBytes > bytes.limit() || allEvents > events.limit()));
    }

    @Override
    public void dropped() {
        dropped.increment();
    }

    @Override
    public long bytes() {
        return bytes.total.get();
    }

    @Override
    public long events() {
        return events.total.get();
    }

    long allDropped() {
        return dropped.sum();
    }

    private boolean exceeded() {
        return bytes.exceeded() || events.exceeded();
    }

    /** Makes room where needed, unless somebody else is at it, who looks again when that has helped. Not called under a session's lock. */
    void makeRoom() {
        boolean possible = true;
        while (possible && exceeded() && busy.compareAndSet(false, true)) {
            try {
                boolean enough = makeRoom(bytes, level -> new Level(level, Long.MAX_VALUE));
                possible = makeRoom(events, level -> new Level(Long.MAX_VALUE, level)) && enough;
            } finally {
                busy.set(false);
            }
        }
    }

    /** What a session may keep. */
    record Level(long bytes, long events) {}

    /** Turns a level of one measure into what a session may keep. */
    private interface Leveller {
        Level at(long level);
    }

    /** Returns false if there is still too much of it. */
    private boolean makeRoom(Measure measure, Leveller leveller) {
        Set<LiveSession> atTheirLeast = new HashSet<>();
        while (measure.exceeded()) {
            List<Share> shares = first(shares(measure), measure.limit());
            long fair = measure.fair(shares);
            List<Share> above = shares.stream()
                    .filter(share -> share.size > fair && !atTheirLeast.contains(share.session))
                    .toList();
            if (!above.isEmpty()) {
                long level = Math.max(fair, level(above, measure.excess()));
                lower(above, leveller.at(level), atTheirLeast);
            } else if (measure.exceeded() && !endLargest(shares, fair)) {
                return false;
            }
        }
        return true;
    }

    /** Those of the named principals that have more than their share of it, if any has: the others keep theirs. */
    private List<Share> first(List<Share> shares, long limit) {
        if (principalShare == 100) {
            return shares;
        }
        long most = limit / 100 * principalShare + limit % 100 * principalShare / 100;
        Map<String, Long> sums = new HashMap<>();
        shares.forEach(share -> sums.merge(share.session.principal(), share.size, Long::sum));
        sums.remove("");
        sums.values().removeIf(sum -> sum <= most);
        return sums.isEmpty()
                ? shares
                : shares.stream()
                        .filter(share -> sums.containsKey(share.session.principal()))
                        .toList();
    }

    /** The sessions that keep something, the largest first. */
    private List<Share> shares(Measure measure) {
        List<Share> shares = new ArrayList<>();
        for (LiveSession session : live.all()) {
            long size = session.lifecycle().state().closed() ? 0 : measure.share.applyAsLong(session);
            if (size > 0) {
                shares.add(new Share(session, size));
            }
        }
        shares.sort(Comparator.comparingLong(Share::size).reversed());
        return shares;
    }

    private static void lower(List<Share> shares, Level level, Set<LiveSession> atTheirLeast) {
        for (Share share : shares) {
            if (!share.session.shorten(level.bytes(), level.events())) {
                atTheirLeast.add(share.session);
            }
        }
    }

    /** How high all may stand, if those above it come down and that makes up for the excess. */
    static long level(List<Share> largestFirst, long excess) {
        long sum = 0;
        int count = 0;
        for (Share share : largestFirst) {
            if (sum - share.size * count >= excess) {
                break;
            }
            sum += share.size;
            count++;
        }
        return Math.max(0, (sum - excess) / count);
    }

    /** Ends the session that keeps most; false if not even that one keeps more than its share. */
    private boolean endLargest(List<Share> shares, long fair) {
        Optional<Share> largest = shares.stream().findFirst().filter(share -> share.size > fair);
        largest.ifPresent(share -> {
            share.session.end(EndReason.OVERFLOW);
            letLeave(new Share(share.session, share.session.weight()));
        });
        return largest.isPresent();
    }

    /** What an ended session kept stays in memory until its clients have read it: half as much as may be kept, then the oldest are cut. */
    private void letLeave(Share ended) {
        leaving.addLast(ended);
        long sum = unread(leaving);
        while (leaving.size() > 1 && sum > bytes.limit() / 2) {
            Share oldest = leaving.removeFirst();
            cut.add(oldest);
            oldest.session.readers().cut();
            sum -= oldest.size;
        }
    }

    /** How many bytes ended sessions have in memory for their connections. */
    private static long unread(Collection<Share> ended) {
        if (ended.isEmpty()) {
            return 0;
        }
        ended.removeIf(share -> !share.session.read());
        return ended.stream().mapToLong(Share::size).sum();
    }
}
