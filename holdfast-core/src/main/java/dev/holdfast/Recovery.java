package dev.holdfast;

import dev.holdfast.spi.UnreadableSessionException;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings a log back whose append has failed: claims at once, then again and again with growing patience, until an append
 * succeeds or the session ends. After a few seconds nobody waits any longer for what is in doubt.
 */
final class Recovery {
    private static final Logger logger = LoggerFactory.getLogger(Recovery.class);
    /** After so many the delay does not grow any more: 3.2 s. */
    private static final int GROWING = 6;

    private static final long FIRST_DELAY_MILLIS = 50;

    private final LiveSession session;
    private final SessionEngine engine;
    private int failures;

    Recovery(LiveSession session, SessionEngine engine) {
        this.session = session;
        this.engine = engine;
    }

    /** The store works; under the lock. */
    void committed() {
        failures = 0;
        engine.storeWorks(true);
    }

    /** The store has failed, or has failed to help; without the lock. */
    void begin(SessionLog log, Throwable failure) {
        int attempt = session.locked(() -> ++failures);
        engine.storeWorks(false);
        if (attempt == 1) {
            claim(log);
            return;
        }
        if (attempt == GROWING) {
            engine.news().storeFails(session, failure);
        }
        if (attempt >= GROWING) {
            dismissWaiting(log);
        }
        engine.later(() -> claim(log), FIRST_DELAY_MILLIS << Math.min(attempt, GROWING));
    }

    private void dismissWaiting(SessionLog log) {
        Effects effects = new Effects();
        session.locked(() -> log.dismissWaiting(effects));
        effects.run();
    }

    private void claim(SessionLog log) {
        if (session.lifecycle().state().closed()) {
            dismissWaiting(log);
            return;
        }
        log.claim(engine.random().nextInt()).whenComplete((found, failure) -> {
            if (lost(failure)) {
                engine.news().unreadable(session.id(), Objects.requireNonNull(failure));
                session.close(EndReason.RESTORE_FAILED);
            } else if (failure != null) {
                begin(log, failure);
            } else if (!found) {
                session.close(missing());
            }
        });
    }

    /** Why the store does not have the session: a store that goes by a wall clock may have let it expire. */
    private EndReason missing() {
        if (session.expiresAt() <= engine.wallClock().millis()) {
            return EndReason.EXPIRED;
        }
        logger.error("session {}: the store has lost it", session.shortId());
        return EndReason.STORE_FAILED;
    }

    /** Whether the store will never be able to answer. */
    private static boolean lost(@Nullable Throwable failure) {
        return failure instanceof UnreadableSessionException
                || (failure instanceof CompletionException && failure.getCause() instanceof UnreadableSessionException);
    }
}
