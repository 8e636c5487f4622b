package dev.holdfast.session;

import dev.holdfast.log.Pending;
import dev.holdfast.log.Step;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Whether a session's backends are the same server, by what each says of itself when it begins. Where a fresh one is another
 * than the one before, the client is told to ask again for the lists that it may have kept: for those whose changes the server
 * promised to tell when the client initialized the session.
 */
final class ServerIdentity {
    private final SessionCore core;
    private final RecordState record;
    private final Answers answers;

    ServerIdentity(SessionCore core, Answers answers) {
        this.core = core;
        this.record = core.record();
        this.answers = answers;
    }

    /** The session's first backend has begun. */
    void first(OutboundMessage response) {
        Introduction said = core.host().messages().introduction(response.bytes());
        core.run(step -> record.introduced(said, step));
    }

    /** The same for a session that has its record already. */
    void first(InboundMessage initialize, Backend.Opened opened) {
        Introduction said =
                core.host().messages().introduction(opened.response().bytes());
        core.run(step -> {
            record.introduced(said, step);
            core.outbox()
                    .insist(
                            List.of(
                                    new RecordChange.Negotiated(opened.revision(), initialize.bytes()),
                                    record.extended(step)),
                            step);
        });
    }

    /**
     * A fresh backend is there, in the state of the one before.
     *
     * @param present whether it still is; asked under the lock
     */
    void again(BooleanSupplier present, OutboundMessage response) {
        core.host().telemetry().restored(core.id());
        Introduction said = core.host().messages().introduction(response.bytes());
        core.run(step -> {
            if (present.getAsBoolean() && another(said, step)) {
                step.then(() -> core.host().telemetry().backendChanged(core.id()));
            }
        });
    }

    private boolean another(Introduction said, Step step) {
        Introduction before = record.introduction();
        if (!said.known() || said.server() == before.server() || core.outbox().closed()) {
            return false;
        }
        record.introduced(before.known() ? new Introduction(said.server(), before.lists()) : said, step);
        core.outbox().whenOpen(step, this::keep);
        if (before.known()) {
            core.host().messages().listsChanged(before.lists()).forEach(message -> answers.announce(message, step));
        }
        return before.known();
    }

    /** Lets the record have it, behind whatever else changes the record. */
    private void keep(Step now) {
        Pending pending = new Pending(null, List.of(record.extended(now))) {
            @Override
            public void again(Step step) {
                keep(step);
            }
        };
        core.outbox().add(pending, now);
    }
}
