package dev.holdfast;

import dev.holdfast.spi.RecordChange;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;

/**
 * When the store may forget a session of which it has heard nothing more: never before its deadline, for the renewal keeps at
 * least the longer of grace and idle ahead of the present. It matters only where no engine lives to end the session. Guarded
 * by the session's lock.
 */
final class Expiry {
    private static final long MARGIN_MILLIS = Duration.ofHours(1).toMillis();

    private final InstantSource clock;
    private final long patience;
    private long at;

    Expiry(InstantSource clock, Lifetime lifetime) {
        this.clock = clock;
        this.patience = Math.max(lifetime.graceNanos(), lifetime.idleNanos()) / 1_000_000;
        this.at = fresh();
    }

    private long fresh() {
        return clock.millis() + patience + MARGIN_MILLIS;
    }

    /** In milliseconds since 1970. */
    long at() {
        return at;
    }

    /** Moves it, once half of the margin is used up. */
    Optional<RecordChange> renew() {
        if (at - clock.millis() >= patience + MARGIN_MILLIS / 2) {
            return Optional.empty();
        }
        at = fresh();
        return Optional.of(new RecordChange.Expires(at));
    }
}
