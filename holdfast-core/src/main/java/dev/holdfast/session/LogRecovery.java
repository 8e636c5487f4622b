package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.spi.UnreadableSessionException;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings a log back whose append has failed: claims at once, then again and again with growing patience, until an append
 * succeeds or the session ends. After a few seconds nobody waits any longer for what is in doubt. Called outside of a step.
 */
final class LogRecovery {
    private static final Logger logger = LoggerFactory.getLogger(LogRecovery.class);
    /** After so many the delay does not grow any more: 3.2 s. */
    private static final int GROWING = 6;

    private static final long FIRST_DELAY_MILLIS = 50;

    private final SessionCore core;
    private int failures;

    LogRecovery(SessionCore core) {
        this.core = core;
    }

    /** The store works; inside a step. */
    void committed() {
        failures = 0;
        core.host().storeWorks(true);
    }

    /** The store has failed, or has failed to help. */
    void begin(Throwable failure) {
        if (unreadable(failure)) {
            lost(failure);
            return;
        }
        int attempt = core.look(() -> ++failures);
        Throwable cause = causeOf(failure);
        if (cause == null || !core.host().cluster().saidByStore(cause)) {
            core.host().storeWorks(false);
        }
        if (attempt == 1) {
            claim();
            return;
        }
        if (attempt == GROWING) {
            core.host().telemetry().storeFails(core.id(), failure);
        }
        if (attempt >= GROWING) {
            core.run(core.outbox()::dismissWaiting);
        }
        core.host().later(this::claim, FIRST_DELAY_MILLIS << Math.min(attempt, GROWING));
    }

    private void claim() {
        if (core.lifecycle().state().closed()) {
            core.run(core.outbox()::dismissWaiting);
            return;
        }
        core.log().claim(core.host().random().nextInt()).whenComplete((found, failure) -> {
            if (failure == null) {
                if (!found) {
                    core.end(missing());
                }
            } else if (unreadable(failure)) {
                lost(failure);
            } else {
                begin(failure);
            }
        });
    }

    private void lost(Throwable failure) {
        core.host().telemetry().unreadable(core.id(), failure);
        core.end(EndReason.RESTORE_FAILED);
    }

    /** Why the store does not have the session: a store that goes by a wall clock may have let it expire. */
    private EndReason missing() {
        if (core.look(core.record()::expiresAt) <= core.host().wallClock().millis()) {
            return EndReason.EXPIRED;
        }
        EndReason why = core.host().cluster().missing();
        if (why == EndReason.STORE_FAILED) {
            logger.error("session {}: the store has lost it", core.shortId());
        } else {
            logger.warn("session {}: the store has it no more; another node has ended it", core.shortId());
        }
        return why;
    }

    /** Whether the store will never be able to answer. */
    private static boolean unreadable(Throwable failure) {
        return causeOf(failure) instanceof UnreadableSessionException;
    }

    private static @Nullable Throwable causeOf(Throwable failure) {
        return failure instanceof CompletionException ? failure.getCause() : failure;
    }
}
