package dev.holdfast.spring.properties;

import static dev.holdfast.spring.properties.Knob.turn;

import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLimits;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.Optional;
import org.springframework.util.unit.DataSize;

/**
 * What all properties together come to.
 *
 * @param mcpEndpoint the path of Streamable HTTP
 * @param onlySseAskedFor whether Spring AI's protocol is HTTP+SSE, and nobody has named that path
 * @param keepAliveInterval how often clients that listen are pinged
 * @param immediateExecution whether handlers run on the threads of their requests
 * @param edge the knobs of connections and requests
 * @param limits how much a session may hold
 * @param nodeLimits how much all may
 * @param connection how streams are held open
 * @param node this node among those that share a store
 * @param session how long sessions live
 * @param drainTimeout how long running calls may take when the application ends
 */
public record TransportSettings(
        Setting<String> mcpEndpoint,
        boolean onlySseAskedFor,
        Optional<Setting<Duration>> keepAliveInterval,
        boolean immediateExecution,
        EdgeOptions edge,
        SessionLimits limits,
        NodeLimits nodeLimits,
        HoldfastProperties.Connection connection,
        HoldfastProperties.Node node,
        HoldfastProperties.Session session,
        Duration drainTimeout) {
    /** A TypeScript client comes back twice, so far apart: it outlasts a restart of twice as long. */
    private static final Duration RETRY_OVER_A_RESTART = Duration.ofSeconds(10);

    /**
     * Reads the properties.
     *
     * @param springAi the properties of Spring AI, where it is the server
     * @throws InvalidPropertyException if one is out of its range
     */
    public static TransportSettings of(HoldfastProperties properties, Optional<SpringAiServer> springAi) {
        Paths paths = Paths.of(properties, springAi);
        return new TransportSettings(
                paths.mcp(),
                properties.mcpEndpoint() == null
                        && springAi.filter(server -> server.protocol().equals("SSE"))
                                .isPresent(),
                paths.keepAlive(),
                Optional.ofNullable(properties.immediateExecution())
                        .orElseGet(() -> springAi.map(SpringAiServer::executesImmediately)
                                .orElse(false)),
                EdgeKnobs.of(properties, paths),
                limits(properties.history()),
                nodeLimits(properties.node()),
                properties.connection(),
                properties.node(),
                properties.session(),
                turn(
                        "holdfast.shutdown.drain-timeout",
                        properties.shutdown().drainTimeout(),
                        TransportSettings::drain));
    }

    /** Turns the knobs of a transport that keeps its sessions in a store. */
    public HoldfastTransportProviderBuilder apply(HoldfastTransportProviderBuilder transport, SessionStore store) {
        transport
                .store(store)
                .edgeOptions(edge(store))
                .immediateExecution(immediateExecution)
                .historyLimits(limits)
                .nodeLimits(nodeLimits);
        mcpEndpoint.turn(transport::mcpEndpoint);
        mcpEndpoint.turn(this::besideSse);
        keepAliveInterval.ifPresentOrElse(
                interval -> interval.turn(transport::keepAliveInterval), () -> transport.keepAliveInterval(null));
        turn("holdfast.node.name", node.name(), transport::nodeName);
        turn("holdfast.node.lease", node.lease(), transport::lease);
        turn("holdfast.session.idle-timeout", session.idleTimeout(), transport::sessionIdleTimeout);
        turn("holdfast.session.park-after", session.parkAfter(), transport::parkAfter);
        return transport;
    }

    private EdgeOptions edge(SessionStore store) {
        boolean restarts = store.promise().durability() != SessionStore.Durability.NOTHING;
        return restarts && connection.retryInterval() == null
                ? edge.toBuilder().retryInterval(RETRY_OVER_A_RESTART).build()
                : edge;
    }

    private String besideSse(String path) {
        if (edge.httpSse().filter(sse -> sse.conflictsWith(path)).isPresent()) {
            throw new IllegalArgumentException("it and the paths of HTTP+SSE must not end with one another");
        }
        return path;
    }

    private static Duration drain(Duration timeout) {
        if (timeout.isNegative() || timeout.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("drainTimeout must be 0 to 1 hour");
        }
        return timeout;
    }

    private static SessionLimits limits(HoldfastProperties.History from) {
        SessionLimits d = SessionLimits.DEFAULT;
        turn(
                "holdfast.history.stream-size",
                from.streamSize(),
                v -> new SessionLimits(
                        v.toBytes(),
                        d.streamEvents(),
                        d.sessionBytes(),
                        d.sessionEvents(),
                        d.finishedStreams(),
                        d.runningCalls()));
        turn(
                "holdfast.history.stream-messages",
                from.streamMessages(),
                v -> new SessionLimits(
                        d.streamBytes(),
                        v,
                        d.sessionBytes(),
                        d.sessionEvents(),
                        d.finishedStreams(),
                        d.runningCalls()));
        turn(
                "holdfast.history.session-size",
                from.sessionSize(),
                v -> new SessionLimits(
                        d.streamBytes(),
                        d.streamEvents(),
                        v.toBytes(),
                        d.sessionEvents(),
                        d.finishedStreams(),
                        d.runningCalls()));
        turn(
                "holdfast.history.session-messages",
                from.sessionMessages(),
                v -> new SessionLimits(
                        d.streamBytes(), d.streamEvents(), d.sessionBytes(), v, d.finishedStreams(), d.runningCalls()));
        turn(
                "holdfast.history.finished-streams",
                from.finishedStreams(),
                v -> new SessionLimits(
                        d.streamBytes(), d.streamEvents(), d.sessionBytes(), d.sessionEvents(), v, d.runningCalls()));
        return turn(
                "holdfast.history.running-calls",
                from.runningCalls(),
                v -> new SessionLimits(
                        from.streamSize().toBytes(),
                        from.streamMessages(),
                        from.sessionSize().toBytes(),
                        from.sessionMessages(),
                        from.finishedStreams(),
                        v));
    }

    private static NodeLimits nodeLimits(HoldfastProperties.Node from) {
        NodeLimits limits = NodeLimits.DEFAULT;
        limits = turn("holdfast.node.max-sessions", from.maxSessions(), limits::withSessions);
        limits = turn(
                "holdfast.node.max-principal-sessions", from.maxPrincipalSessions(), limits::withPrincipalSessions);
        limits = turn("holdfast.node.max-running-calls", from.maxRunningCalls(), limits::withRunningCalls);
        limits = turn("holdfast.node.principal-share", from.principalShare(), limits::withPrincipalShare);
        long bytes = limits.historyBytes();
        DataSize size = from.historySize();
        if (size != null) {
            NodeLimits with = limits;
            bytes = turn(
                    "holdfast.node.history-size",
                    size,
                    v -> with.withHistory(v.toBytes(), with.historyEvents()).historyBytes());
        }
        NodeLimits with = limits;
        long kept = bytes;
        return turn("holdfast.node.history-messages", from.historyMessages(), v -> with.withHistory(kept, v));
    }
}
