package dev.holdfast.client;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * How far a call is, as its application was told, over all that is made of it: attempts, and sessions. What a server says of one run
 * passes as it is. Once there may be a second one, which reports from the beginning and perhaps beside the first, only what goes
 * beyond the last that was told. Thread-safe.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow">MCP, progress</a>
 */
public final class ToldProgress {
    private OptionalDouble last = OptionalDouble.empty();
    private boolean runsAgain;

    /** The call is about to be sent again, and may have been executed before. */
    public synchronized void runsAgain() {
        runsAgain = true;
    }

    /** Passes a notification of its progress on, or drops it; one that the application does not take was not told. */
    CompletionStage<Void> pass(Envelope notification, MessageSink application) {
        OptionalDouble here = JsonRpc.MESSAGES.progress(notification.bytes());
        OptionalDouble before;
        synchronized (this) {
            before = last;
            if (runsAgain && !goesBeyond(here, before)) {
                return CompletableFuture.completedFuture(null);
            }
            last = here.isPresent() ? here : before;
        }
        return MessageBodies.handOver(notification, application).whenComplete((taken, failure) -> {
            if (failure != null) {
                takeBack(here, before);
            }
        });
    }

    /** A figure that goes beyond the last that was told; this one if it does. */
    synchronized double beyond(double here) {
        return goesBeyond(OptionalDouble.of(here), last) ? here : last.getAsDouble() + 1;
    }

    private static boolean goesBeyond(OptionalDouble here, OptionalDouble before) {
        return before.isEmpty() || here.orElse(Double.NEGATIVE_INFINITY) > before.getAsDouble();
    }

    private synchronized void takeBack(OptionalDouble here, OptionalDouble before) {
        if (last.equals(here)) {
            last = before;
        }
    }
}
