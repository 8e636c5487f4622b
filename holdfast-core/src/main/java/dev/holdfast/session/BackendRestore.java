package dev.holdfast.session;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Brings a fresh backend into the place of one that is gone: opens it, replays the journal, and lets those in who waited. */
final class BackendRestore {
    private static final Logger logger = LoggerFactory.getLogger(BackendRestore.class);
    /** How long a fresh backend may take for the journal. */
    static final long REPLAY_MILLIS = 30_000;

    private final SessionCore core;
    private final BackendSlot slot;
    private final ServerIdentity identity;

    BackendRestore(SessionCore core, BackendSlot slot, ServerIdentity identity) {
        this.core = core;
        this.slot = slot;
        this.identity = identity;
    }

    void begin(int incarnation) {
        slot.open(incarnation).whenComplete((outcome, failure) -> {
            if (failure != null) {
                logger.error("session {}: the backend could not be opened", core.shortId(), failure);
                slot.putOff(incarnation, "the backend could not be opened");
            } else if (outcome instanceof Backend.Opened opened) {
                opened(incarnation, opened);
            } else if (outcome instanceof Backend.Unreachable unreachable) {
                slot.putOff(incarnation, unreachable.cause());
            } else if (outcome instanceof Backend.Busy busy) {
                slot.putOff(incarnation, busy.cause());
            } else {
                slot.giveUp(incarnation, "the backend refused the session");
            }
        });
    }

    private void opened(int incarnation, Backend.Opened opened) {
        if (!slot.reached(incarnation, opened.connection())) {
            return;
        }
        if (!opened.revision().equals(core.revision())) {
            slot.giveUp(incarnation, "the backend now speaks revision " + opened.revision());
        } else {
            replay(incarnation, opened);
        }
    }

    private void replay(int incarnation, Backend.Opened fresh) {
        List<InboundMessage> messages = core.look(core.journal()::replay);
        core.host().later(() -> mute(incarnation), REPLAY_MILLIS);
        new Replay(core.id()).send(messages, fresh.connection()).whenComplete((done, failure) -> {
            if (failure != null && (failure instanceof Error || failure.getCause() instanceof Error)) {
                slot.notRestored(incarnation, "the backend failed");
            } else if (failure != null) {
                slot.giveUp(incarnation, "the backend refused what it had accepted before");
            } else if (slot.restored(incarnation)) {
                identity.again(() -> slot.present(incarnation), fresh.response());
                slot.serve(incarnation, fresh.connection());
            }
        });
    }

    private void mute(int incarnation) {
        slot.notRestored(incarnation, "the backend does not answer what it had answered before");
    }

    /** Ends a connection to a backend; a drain waits for it. */
    static void close(BackendConnection connection, SessionCore core) {
        try {
            core.host().closing(connection.close().whenComplete((done, failure) -> {
                if (failure != null) {
                    logger.error("session {}: the backend did not close", core.shortId(), failure);
                }
            }));
        } catch (Throwable e) {
            logger.error("session {}: the backend failed on its close", core.shortId(), e);
        }
    }
}
