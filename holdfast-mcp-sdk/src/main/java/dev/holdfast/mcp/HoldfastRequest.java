package dev.holdfast.mcp;

import io.modelcontextprotocol.common.McpTransportContext;
import java.time.Duration;
import java.util.function.Consumer;
import reactor.util.context.Context;

/** What a handler can learn of the client's request, and ask of its connection. */
public final class HoldfastRequest {
    private static final String KEY = HoldfastRequest.class.getName();

    private final String sessionId;
    private final Consumer<Duration> disconnect;

    private HoldfastRequest(String sessionId, Consumer<Duration> disconnect) {
        this.sessionId = sessionId;
        this.disconnect = disconnect;
    }

    /**
     * The request a handler serves.
     *
     * @param context {@code exchange.transportContext()}
     * @throws IllegalStateException if the server does not run on a {@link HoldfastTransportProvider}
     */
    public static HoldfastRequest of(McpTransportContext context) {
        if (context.get(KEY) instanceof HoldfastRequest request) {
            return request;
        }
        throw new IllegalStateException("this exchange did not come through a HoldfastTransportProvider");
    }

    /**
     * Adds to Reactor's context of a handler what its request brings, by the context of the message, and itself.
     *
     * @param disconnect ends the connection of a call
     */
    static Context added(Context context, Object edge, String sessionId, Consumer<Duration> disconnect) {
        HoldfastRequest request = new HoldfastRequest(sessionId, disconnect);
        McpTransportContext user = RequestContext.extracted(edge);
        McpTransportContext transport = key -> key.equals(KEY) ? request : user.get(key);
        return RequestContext.propagated(edge, context).put(McpTransportContext.KEY, transport);
    }

    /** The session id that the client holds. It stays the same when the server's own session is replaced. */
    public String sessionId() {
        return sessionId;
    }

    /**
     * Ends the connection that carries this call in order, so that the client comes back for the result (SEP-1699). The call
     * goes on. Nothing happens without a connection, for a notification, and where the client could not come back: over HTTP+SSE
     * without a grace period, and before the first message to a client older than 2025-11-25.
     *
     * @param retry when the client shall be back, 0 to 1 hour
     * @throws IllegalArgumentException if that is out of its range
     */
    public void disconnect(Duration retry) {
        if (retry.isNegative() || retry.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("retry must be 0 to 1 hour, got " + retry);
        }
        disconnect.accept(retry);
    }
}
