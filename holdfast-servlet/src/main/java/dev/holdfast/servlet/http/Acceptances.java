package dev.holdfast.servlet.http;

import dev.holdfast.Call;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.io.Writers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers POSTs with 202 when their calls are handed to the backend. */
public final class Acceptances {
    private static final Logger log = LoggerFactory.getLogger(Acceptances.class);
    private static final long PATIENCE_MILLIS = 50;
    private static final int MAX_WAITING = 256;

    private final EdgeClock clock;
    private final Writers early = new Writers("holdfast-accept", MAX_WAITING);

    /** Acceptances that are given early by this clock. */
    public Acceptances(EdgeClock clock) {
        this.clock = clock;
    }

    /** Hands a call to the backend on this thread, and answers its POST. */
    public Step accept(Exchange exchange, Call call) {
        Acceptance acceptance = new Acceptance(exchange);
        try {
            clock.later(() -> early.offer(acceptance::giveEarly), PATIENCE_MILLIS);
            try {
                exchange.dispatch(call);
            } finally {
                acceptance.give();
            }
        } catch (Throwable e) {
            log.error("a call could not be handed over", e);
        } finally {
            exchange.answer().end();
        }
        return Step.DONE;
    }

    /** Ends its threads. */
    public void stop() {
        early.stop();
    }
}
