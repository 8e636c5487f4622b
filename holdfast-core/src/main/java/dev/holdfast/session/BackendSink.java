package dev.holdfast.session;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What one incarnation of a session's backend says outside of calls. */
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
        boolean late = core.step(step -> {
            hook = opened ? BackendSink::nothing : next;
            return abandoned;
        });
        if (late) {
            next.run();
        }
    }

    @Override
    public void onAnswer(Consumer<InboundMessage> next) {
        core.run(step -> answers = Optional.of(next));
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
        core.host().telemetry().unsolicited();
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
    void opened() {
        core.run(step -> {
            opened = true;
            hook = BackendSink::nothing;
        });
    }

    /** Nobody waits for the connection any more. */
    void abandon() {
        Runnable now = core.step(step -> {
            abandoned = !opened;
            return hook;
        });
        try {
            now.run();
        } catch (RuntimeException e) {
            logger.error("session {}: a backend that is being opened could not be given up", core.shortId(), e);
        }
    }
}
