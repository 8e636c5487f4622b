package dev.holdfast.log;

import dev.holdfast.EventId;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionStore;
import java.util.List;
import java.util.stream.Stream;

/** The epochs that a session had, as far as its store tells, and has. */
public final class Epochs {
    /** The one that new events get. */
    Epoch present;

    /** Oldest first. */
    private List<Epoch> before;

    private int certainFrom;

    /**
     * @param all those that it had, oldest first, the present one last
     * @param certainFrom the counter of the epoch since which surely nothing was lost
     */
    public Epochs(List<Epoch> all, int certainFrom) {
        this.present = all.get(all.size() - 1);
        this.before = List.copyOf(all.subList(0, all.size() - 1));
        this.certainFrom = certainFrom;
    }

    public boolean had(Epoch epoch) {
        return epoch.equals(present) || before.contains(epoch);
    }

    /** Whether it is older than those that are known, and may be one of many that the session had. */
    public boolean forgot(Epoch epoch) {
        return before.size() >= SessionStore.EPOCHS_KEPT
                && epoch.counter() < before.get(0).counter();
    }

    /** Where a client comes back that names this event. */
    public ResumePoint resume(EventId after) {
        return new ResumePoint(after, had(after.epoch()), doubts(after.epoch().counter()));
    }

    /** Whether something may have been lost after an event of the epoch of that counter, without a trace. */
    public boolean doubts(int counter) {
        return counter < certainFrom;
    }

    /** Another one is present, and these came before it, of whatever node. */
    void begin(SessionStore.Claim claim, Step step) {
        certainFrom = Math.max(certainFrom, claim.certainFrom());
        before = List.copyOf(claim.before());
        present = claim.epoch();
    }

    void begin(Epoch next, Step step) {
        int surplus = Math.max(0, before.size() + 1 - SessionStore.EPOCHS_KEPT);
        before =
                Stream.concat(before.stream(), Stream.of(present)).skip(surplus).toList();
        present = next;
    }

    /**
     * Where a client comes back that names the last event it has.
     *
     * @param after what it names
     * @param ours whether the session had the epoch of that event: else the client has nothing of this stream
     * @param doubtful whether something may have been lost after an event of that epoch, without a trace
     */
    public record ResumePoint(EventId after, boolean ours, boolean doubtful) {
        /** The last offset that the client can have of a stream that is committed up to here. */
        public long most(long committed) {
            return ours ? Math.min(after.offset(), committed) : 0;
        }

        /**
         * Whether the client has missed something.
         *
         * @param cursor where it goes on: before the first kept event that it does not have
         * @param dropped the highest offset that was ever dropped
         * @param last the last offset of the stream
         */
        public boolean missed(long cursor, long dropped, long last) {
            return !ours || doubtful || cursor < after.offset() || cursor < dropped || cursor > last;
        }
    }
}
