package dev.holdfast.session;

import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LazyQueue;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;

/** What the engine itself tells a client, now or when the log goes on. Used inside a step. */
final class OwnMessages {
    private final SessionCore core;
    /** What is to be done when the log goes on, because the store did not take it. */
    private final LazyQueue<Runnable> postponed = new LazyQueue<>();

    OwnMessages(SessionCore core) {
        this.core = core;
    }

    /** Tells the client that nobody waits for its answer. */
    void withdraw(KeptEvent question, String cause) {
        whenOpen(() -> {
            RequestId asked = question.event.id();
            boolean heard = question.kept && question.event.kind() != EventKind.PING;
            if (asked != null && heard) {
                OutboundMessage message = core.host().messages().cancelled(asked, cause);
                say(question.stream, message, () -> withdraw(question, cause));
            }
        });
    }

    /** Says something to whoever listens. */
    void announce(OutboundMessage message) {
        whenOpen(() -> say(core.streams().listening(), message, () -> announce(message)));
    }

    private void say(LiveStream stream, OutboundMessage message, Runnable again) {
        if (stream.ended().isEmpty()) {
            core.outbox().add(new Pending(core.streams().assign(stream, message), List.of()) {
                @Override
                public void again() {
                    again.run();
                }
            });
        }
    }

    /** Does something with the log, now or when it goes on. */
    void whenOpen(Runnable action) {
        if (core.outbox().open()) {
            action.run();
        } else if (!core.outbox().closed()) {
            postponed.addLast(action);
        }
    }

    /** The store did not take this: newest first. */
    void refused(Pending pending) {
        postponed.addFirst(() -> pending.again());
    }

    /** The log goes on. */
    void recovered() {
        postponed.takeAll().forEach(Runnable::run);
    }
}
