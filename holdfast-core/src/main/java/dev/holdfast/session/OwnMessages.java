package dev.holdfast.session;

import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LazyQueue;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.Step;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.function.Consumer;

/** What the engine itself tells a client, now or when the log goes on. */
final class OwnMessages {
    private final SessionCore core;
    /** What is to be done when the log goes on, because the store did not take it. */
    private final LazyQueue<Consumer<Step>> postponed = new LazyQueue<>();

    OwnMessages(SessionCore core) {
        this.core = core;
    }

    /** Tells the client that nobody waits for its answer. */
    void withdraw(KeptEvent question, String cause, Step now) {
        whenOpen(now, step -> {
            RequestId asked = question.event.id();
            boolean heard = question.kept && question.event.kind() != EventKind.PING;
            if (asked != null && heard) {
                OutboundMessage message = core.host().messages().cancelled(asked, cause);
                say(question.stream, message, step, again -> withdraw(question, cause, again));
            }
        });
    }

    /** Says something to whoever listens. */
    void announce(OutboundMessage message, Step now) {
        whenOpen(now, step -> say(core.streams().listening(), message, step, again -> announce(message, again)));
    }

    private void say(LiveStream stream, OutboundMessage message, Step now, Consumer<Step> again) {
        if (stream.ended().isEmpty()) {
            Pending pending = new Pending(core.streams().assign(stream, message, now), List.of()) {
                @Override
                public void again(Step step) {
                    again.accept(step);
                }
            };
            core.outbox().add(pending, now);
        }
    }

    /** Does something with the log, now or when it goes on. */
    void whenOpen(Step now, Consumer<Step> action) {
        if (core.outbox().open()) {
            action.accept(now);
        } else if (!core.outbox().closed()) {
            postponed.addLast(action);
        }
    }

    /** The store did not take this: newest first. */
    void refused(Pending pending, Step step) {
        postponed.addFirst(pending::again);
    }

    /** The log goes on. */
    void recovered(Step step) {
        postponed.takeAll().forEach(action -> action.accept(step));
    }
}
