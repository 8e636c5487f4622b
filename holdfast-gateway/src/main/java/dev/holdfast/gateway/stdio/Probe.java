package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.RequestId;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Asks a child that did not answer a call in time whether it answers at all, by a JSON-RPC ping. One that does not is given up,
 * so that the next call gets another. Thread-safe.
 */
final class Probe {
    private final Child child;
    private final String prefix;
    private int count;
    private Optional<RequestId> open = Optional.empty();
    private @Nullable Future<?> deadline;

    /**
     * A probe that has not begun.
     *
     * @param incarnation makes the ids of its pings different from those of the client's requests
     */
    Probe(Child child, String incarnation) {
        this.child = child;
        this.prefix = "holdfast-ping-" + incarnation + "-";
    }

    /** Sends a ping, unless one is open. */
    synchronized void begin() {
        if (open.isPresent()) {
            return;
        }
        RequestId id = JsonRpc.stringId(prefix + ++count);
        open = Optional.of(id);
        String ping = "{\"jsonrpc\":\"2.0\",\"id\":" + id.token() + ",\"method\":\"ping\"}";
        child.write(ping.getBytes(StandardCharsets.UTF_8));
        wait(id);
    }

    /** Whether a response answers the ping, with a result or an error. */
    synchronized boolean answered(RequestId id) {
        if (!open.equals(Optional.of(id))) {
            return false;
        }
        end();
        return true;
    }

    /** Forgets the open ping. */
    synchronized void end() {
        open = Optional.empty();
        if (deadline != null) {
            deadline.cancel(false);
        }
    }

    private void wait(RequestId id) {
        deadline = child.afterReading(child.options().pingPatience(), () -> late(id));
    }

    private void late(RequestId id) {
        synchronized (this) {
            if (!open.equals(Optional.of(id))) {
                return;
            }
            open = Optional.empty();
        }
        child.giveUp("the server process did not answer a ping within "
                + Durations.text(child.options().pingPatience()) + " after a call had taken too long");
    }
}
