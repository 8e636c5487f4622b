package dev.holdfast.session;

import dev.holdfast.log.Step;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Opens the connections to a session's backend, each incarnation under a name of its own. */
final class BackendOpenings {
    private final SessionCore core;
    private final Outbound outbound;
    private final Readers readers;
    private @Nullable BackendSink latest;
    private boolean abandoned;

    BackendOpenings(SessionCore core, Outbound outbound, Readers readers) {
        this.core = core;
        this.outbound = outbound;
        this.readers = readers;
    }

    /** Opens the first connection, for an incarnation; outside of a step. */
    CompletionStage<Backend.Outcome> first(InboundMessage initialize, int incarnation, BackendSink.Hearer hearer) {
        return open(initialize, incarnation, hearer, false);
    }

    /** Opens another connection, for an incarnation that restores; outside of a step. */
    CompletionStage<Backend.Outcome> another(InboundMessage initialize, int incarnation, BackendSink.Hearer hearer) {
        return open(initialize, incarnation, hearer, true);
    }

    private CompletionStage<Backend.Outcome> open(
            InboundMessage initialize, int incarnation, BackendSink.Hearer hearer, boolean restores) {
        Epoch present = core.look(core.log().epochs()::present);
        String name = Long.toString(present.nonce(), 36) + "." + incarnation;
        BackendSink sink = new BackendSink(core, outbound, readers, hearer, incarnation);
        core.run(step -> began(sink, step));
        try {
            return core.host()
                    .backend()
                    .open(new Backend.OpenRequest(initialize, core.principal(), name, restores), sink)
                    .whenComplete((outcome, failure) -> sink.opened());
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void began(BackendSink sink, Step step) {
        if (abandoned) {
            step.then(sink::abandon);
        } else {
            latest = sink;
        }
    }

    /** Who takes the client's answers while the latest connection is being opened; inside a step. */
    Optional<Consumer<InboundMessage>> answers() {
        return latest == null ? Optional.empty() : latest.answers();
    }

    /** The latest connection was opened and is gone; inside a step. What it has set here must not keep it in memory. */
    void forget() {
        latest = null;
    }

    /** Nobody waits any more for a connection, neither for one that is being opened nor for one that will be; inside a step. */
    void abandon(Step step) {
        abandoned = true;
        if (latest != null) {
            step.then(latest::abandon);
        }
        latest = null;
    }
}
