package dev.holdfast.log;

import dev.holdfast.EventId;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionStore;
import java.util.List;
import java.util.stream.Stream;

/** The epochs that a session had, as far as its store tells, and has. */
public final class Epochs {
    private List<Epoch> all;
    private int certainFrom;

    /**
     * @param all those that it had, oldest first, the present one last
     * @param certainFrom the counter of the epoch since which surely nothing was lost
     */
    public Epochs(List<Epoch> all, int certainFrom) {
        this.all = List.copyOf(all);
        this.certainFrom = certainFrom;
    }

    /** The one that new events get. */
    public Epoch present() {
        return all.get(all.size() - 1);
    }

    public boolean had(Epoch epoch) {
        return all.contains(epoch);
    }

    /** Whether it is older than those that are known, and may be one of many that the session had. */
    public boolean forgot(Epoch epoch) {
        return all.size() > SessionStore.EPOCHS_KEPT
                && epoch.counter() < all.get(0).counter();
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
        all = Stream.concat(claim.before().stream(), Stream.of(claim.epoch())).toList();
    }

    void begin(Epoch next, Step step) {
        int known = Math.min(all.size(), SessionStore.EPOCHS_KEPT);
        all = Stream.concat(all.subList(all.size() - known, all.size()).stream(), Stream.of(next))
                .toList();
    }
}
