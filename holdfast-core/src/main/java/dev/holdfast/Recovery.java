package dev.holdfast;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings a log back whose append has failed: claims at once, then again and again with growing patience, until an append
 * succeeds or the store has failed too often.
 */
final class Recovery {
    private static final Logger logger = LoggerFactory.getLogger(Recovery.class);
    private static final int ATTEMPTS = 6;
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
    }

    /** The store has failed, or has failed to help; without the lock. */
    void begin(SessionLog log, Throwable failure) {
        int attempt = session.locked(() -> ++failures);
        if (attempt > ATTEMPTS) {
            logger.error("session {}: the store failed", session.shortId(), failure);
            giveUp(log);
        } else if (attempt == 1) {
            claim(log);
        } else {
            engine.later(() -> claim(log), FIRST_DELAY_MILLIS << attempt);
        }
    }

    private void claim(SessionLog log) {
        log.claim(engine.random().nextInt()).whenComplete((found, failure) -> {
            if (failure != null) {
                begin(log, failure);
            } else if (!found) {
                logger.error("session {}: the store has lost it", session.shortId());
                giveUp(log);
            }
        });
    }

    private void giveUp(SessionLog log) {
        session.close(EndReason.STORE_FAILED);
        Effects effects = new Effects();
        session.locked(() -> log.giveUp(effects));
        effects.run();
    }
}
