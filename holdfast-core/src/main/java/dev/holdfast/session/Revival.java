package dev.holdfast.session;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a fresh backend for a client that only listens: the one that was lost, or could not be reached, would be missed for ever by
 * who sends nothing. At once the first time, then after pauses that double, each longer by up to a quarter so that sessions which lost
 * theirs together do not come together, until one has stayed for a minute. Used by the sweep.
 */
final class Revival {
    private static final Logger logger = LoggerFactory.getLogger(Revival.class);
    private static final long FIRST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final SessionCore core;
    private final BackendSlot backend;
    private final Readers readers;
    private boolean there;
    /** When it was last tried, or was seen to be there first. */
    private long since;
    /** How long it is left alone from then on, which no other session waits too. */
    private long pause;

    Revival(SessionCore core, BackendSlot backend, Readers readers) {
        this.core = core;
        this.backend = backend;
        this.readers = readers;
    }

    void sweep(long now) {
        BackendSlot.Presence seen = backend.presence();
        if (seen == BackendSlot.Presence.THERE) {
            since = there ? since : now;
            there = true;
            pause = passed(MOST_PAUSE_NANOS, since, now) ? 0 : pause;
            return;
        }
        there = false;
        boolean due = pause == 0 || passed(pause, since, now);
        if (seen == BackendSlot.Presence.MISSING && due && wanted()) {
            since = now;
            long doubled = Math.min(Math.max(2 * pause, FIRST_PAUSE_NANOS), MOST_PAUSE_NANOS);
            pause = doubled + core.host().random().nextLong(doubled / 4);
            StoreQuestion.ask(() -> core.host().cluster().mayOpenBackend(core.key()))
                    .whenComplete(this::open);
        }
    }

    /** Where nobody knows whether it may be opened, it is tried again like one that cannot be reached. */
    private void open(@Nullable Boolean may, @Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("session {}: nobody knows which node has its backend", core.shortId(), failure);
        } else if (Boolean.TRUE.equals(may) && !core.host().elsewhere(backend::restore)) {
            logger.debug("session {}: nobody can open its backend now", core.shortId());
        }
    }

    private boolean passed(long nanos, long since, long now) {
        return core.clock().passed(nanos, since, now);
    }

    /** A backend that takes headers of a request along waits for a request. */
    private boolean wanted() {
        return readers.listening()
                && core.host().storeWorks()
                && !core.host().draining()
                && !core.lifecycle().state().closed()
                && !core.host().backend().needsContext();
    }
}
