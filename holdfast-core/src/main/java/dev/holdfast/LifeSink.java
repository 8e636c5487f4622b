package dev.holdfast;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What one life of a session's backend says outside of calls. What changes is guarded by the session's lock. */
final class LifeSink implements ListeningSink {
    private static final Logger logger = LoggerFactory.getLogger(LifeSink.class);

    private final LiveSession session;
    private final BackendSlot slot;
    private final int life;
    private Runnable hook = LifeSink::nothing;
    private Optional<Consumer<InboundMessage>> answers = Optional.empty();
    private boolean opened;
    private boolean abandoned;

    LifeSink(LiveSession session, BackendSlot slot, int life) {
        this.session = session;
        this.slot = slot;
        this.life = life;
    }

    private static void nothing() {}

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        return session.send(life, message);
    }

    @Override
    public boolean attached() {
        return session.attachments().listening();
    }

    @Override
    public boolean followed() {
        return session.attachments().followed();
    }

    @Override
    public String sessionId() {
        return session.id();
    }

    @Override
    public void onAbandon(Runnable next) {
        boolean late = session.locked(() -> {
            hook = opened ? LifeSink::nothing : next;
            return abandoned;
        });
        if (late) {
            next.run();
        }
    }

    @Override
    public void onAnswer(Consumer<InboundMessage> next) {
        session.locked(() -> answers = Optional.of(next));
    }

    /** Who takes answers while there is no connection; under the lock. */
    Optional<Consumer<InboundMessage>> answers() {
        return answers;
    }

    @Override
    public void withdrawn(RequestId question) {
        session.withdrawn(question);
    }

    @Override
    public void lost(String cause) {
        slot.lost(life, cause);
    }

    /** The opening is over: nobody can give it up any more. */
    void opened() {
        session.locked(() -> {
            opened = true;
            hook = LifeSink::nothing;
        });
    }

    /** Nobody waits for the connection any more; without the lock. */
    void abandon() {
        Runnable now = session.locked(() -> {
            abandoned = !opened;
            return hook;
        });
        try {
            now.run();
        } catch (RuntimeException e) {
            logger.error("session {}: a backend that is being opened could not be given up", session.shortId(), e);
        }
    }
}
