package dev.holdfast.session;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One incarnation of a session's backend: how it is opened, what it says outside of calls, and how its connection is closed. */
final class BackendSink implements ListeningSink {
    private static final Logger logger = LoggerFactory.getLogger(BackendSink.class);

    private final SessionCore core;
    private final Outbound outbound;
    private final Readers readers;
    private final BackendSlot slot;
    private final int incarnation;
    private Runnable hook = BackendSink::nothing;
    private Optional<Consumer<InboundMessage>> answers = Optional.empty();
    private boolean opened;
    private boolean abandoned;

    BackendSink(SessionCore core, Outbound outbound, Readers readers, BackendSlot slot, int incarnation) {
        this.core = core;
        this.outbound = outbound;
        this.readers = readers;
        this.slot = slot;
        this.incarnation = incarnation;
    }

    /** Opens the connection; nobody has given that up yet. */
    CompletionStage<Backend.Outcome> open(InboundMessage initialize, boolean restores) {
        Epoch present = core.log.look(core.log::epoch);
        String name = Long.toString(present.nonce(), 36) + "." + incarnation;
        try {
            return core.host
                    .backend
                    .open(new Backend.OpenRequest(initialize, core.principal, name, restores), this)
                    .whenComplete((outcome, failure) -> opened());
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static void nothing() {}

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        return outbound.send(incarnation, message, () -> slot.present(incarnation));
    }

    @Override
    public boolean attached() {
        return readers.listening();
    }

    @Override
    public boolean followed() {
        return readers.followed();
    }

    @Override
    public String sessionId() {
        return core.id();
    }

    @Override
    public void onAbandon(Runnable next) {
        boolean late = core.log.step(step -> {
            hook = opened ? BackendSink::nothing : next;
            return abandoned;
        });
        if (late) {
            next.run();
        }
    }

    @Override
    public void onAnswer(Consumer<InboundMessage> next) {
        core.log.run(step -> answers = Optional.of(next));
    }

    /** Who takes answers while there is no connection. */
    Optional<Consumer<InboundMessage>> answers() {
        return answers;
    }

    @Override
    public void withdrawn(RequestId question) {
        outbound.withdrawn(question);
    }

    @Override
    public void unsolicited() {
        core.host.telemetry.unsolicited();
    }

    @Override
    public void lost(String cause) {
        lost(cause, List.of());
    }

    @Override
    public void lost(String cause, List<InboundMessage> untouched) {
        slot.lost(incarnation, cause, untouched);
    }

    /** The opening is over: nobody can give it up any more. */
    private void opened() {
        core.log.run(step -> {
            opened = true;
            hook = BackendSink::nothing;
        });
    }

    /** Nobody waits for the connection any more. */
    void abandon() {
        Runnable now = core.log.step(step -> {
            abandoned = !opened;
            return hook;
        });
        try {
            now.run();
        } catch (RuntimeException e) {
            logger.error("session {}: a backend that is being opened could not be given up", core.shortId(), e);
        }
    }

    /** Ends a connection to a backend; a drain waits for it. */
    static void close(BackendConnection last, SessionCore core) {
        try {
            core.host.closing(last.close().whenComplete((done, failure) -> {
                if (failure != null) {
                    logger.error("session {}: the backend did not close", core.shortId(), failure);
                }
            }));
        } catch (Throwable e) {
            logger.error("session {}: the backend failed on its close", core.shortId(), e);
        }
    }
}
