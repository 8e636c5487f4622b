package dev.holdfast.cluster;

import dev.holdfast.spi.Epoch;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * What those who are gone have left on a session's listening stream, as far as this node has looked for it: by one who looks at a time,
 * and at no event twice unless somebody more is gone. Safe for use by any thread.
 */
final class Leftovers {
    private final AtomicBoolean lookedFor = new AtomicBoolean();
    /** Only who looks uses these. */
    private Set<Epoch> present = Set.of();

    private long through;

    /** Begins to look; false where somebody does. */
    boolean begin() {
        return lookedFor.compareAndSet(false, true);
    }

    /** Behind which event is to be looked. */
    long from(Set<Epoch> nowPresent) {
        return nowPresent.containsAll(present) ? through : 0;
    }

    /** Nothing is left up to here of any that is not present. */
    void none(Set<Epoch> nowPresent, long upTo) {
        through = Math.max(from(nowPresent), upTo);
        present = nowPresent;
    }

    /** Looks no more. */
    void end() {
        lookedFor.set(false);
    }
}
