package dev.holdfast.spring.properties;

import static dev.holdfast.spring.properties.Setting.turn;
import static dev.holdfast.spring.properties.Setting.turnIfSet;

import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLimits;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import dev.holdfast.servlet.Isolation;
import dev.holdfast.servlet.Protocols;
import dev.holdfast.spi.SessionStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/**
 * The settings that all properties together give: {@code holdfast.*}, else those of Spring AI that stand in for them, else the defaults.
 *
 * @param properties those of Holdfast
 * @param mcpEndpoint the path of Streamable HTTP
 * @param onlySseAskedFor whether Spring AI's protocol is HTTP+SSE, and nobody has named that path
 * @param ssePaths the paths of HTTP+SSE: that of the GET, and that of the POSTs; none where it is not served
 * @param keepAliveInterval how often clients that listen are pinged; never unless it is there
 * @param immediateExecution whether handlers run on the threads of their requests
 * @param edge the options of connections and requests
 * @param limits how much a session may hold
 * @param nodeLimits how much all may
 */
public record TransportSettings(
        HoldfastProperties properties,
        Setting<String> mcpEndpoint,
        boolean onlySseAskedFor,
        List<Setting<String>> ssePaths,
        Optional<Setting<Duration>> keepAliveInterval,
        boolean immediateExecution,
        EdgeOptions edge,
        SessionLimits limits,
        NodeLimits nodeLimits) {
    private static final Duration PLAIN_KEEP_ALIVE = Duration.ofMinutes(30);
    /** A TypeScript client tries twice, this far apart, to come back: it outlasts a restart of twice as long. */
    private static final Duration RETRY_OVER_A_RESTART = Duration.ofSeconds(10);

    /**
     * Reads the properties.
     *
     * @param springAi the properties of Spring AI, where it is the server
     * @throws InvalidPropertyException if one is out of its range
     */
    public static TransportSettings of(HoldfastProperties properties, Optional<SpringAiServer> springAi) {
        turn("holdfast.shutdown.drain-timeout", properties.shutdown().drainTimeout(), TransportSettings::drain);
        Setting<Duration> pings = first(
                "keep-alive-interval",
                properties.keepAliveInterval(),
                springAi.flatMap(SpringAiServer::keepAliveInterval),
                springAi.isPresent() ? Duration.ZERO : PLAIN_KEEP_ALIVE);
        List<Setting<String>> ssePaths =
                properties.sse().enabled() && properties.protocols() != HoldfastProperties.Protocols.MODERN
                        ? ssePaths(properties.sse(), springAi)
                        : List.of();
        return new TransportSettings(
                properties,
                first(
                        "mcp-endpoint",
                        properties.mcpEndpoint(),
                        springAi.flatMap(server -> server.setting("streamable-http.mcp-endpoint", String.class)),
                        "/mcp"),
                properties.mcpEndpoint() == null
                        && springAi.filter(server -> server.protocol().equals("SSE"))
                                .isPresent(),
                ssePaths,
                Optional.of(pings).filter(set -> !set.value().isZero()),
                Optional.ofNullable(properties.immediateExecution())
                        .orElseGet(() -> springAi.map(SpringAiServer::executesImmediately)
                                .orElse(false)),
                edge(properties, ssePaths, springAi),
                limits(properties.history()),
                nodeLimits(properties.node()));
    }

    private static <T> Setting<T> first(String name, @Nullable T own, Optional<Setting<T>> springAi, T otherwise) {
        String property = "holdfast." + name;
        return own == null ? springAi.orElse(new Setting<>(property, otherwise)) : new Setting<>(property, own);
    }

    /** How long running calls may take when the application ends. */
    public Duration drainTimeout() {
        return properties.shutdown().drainTimeout();
    }

    /** Gives all settings to the builder of a transport that keeps its sessions in a store. */
    public HoldfastTransportProviderBuilder apply(HoldfastTransportProviderBuilder transport, SessionStore store) {
        transport
                .store(store)
                .edgeOptions(edge(store))
                .immediateExecution(immediateExecution)
                .historyLimits(limits)
                .nodeLimits(nodeLimits);
        mcpEndpoint.turn(transport::mcpEndpoint);
        mcpEndpoint.turn(path -> apart(path, ssePaths));
        keepAliveInterval.ifPresentOrElse(
                interval -> interval.turn(transport::keepAliveInterval), () -> transport.keepAliveInterval(null));
        turn("holdfast.node.name", properties.node().name(), transport::nodeName);
        turn("holdfast.node.lease", properties.node().lease(), transport::lease);
        turn("holdfast.session.idle-timeout", properties.session().idleTimeout(), transport::sessionIdleTimeout);
        turn("holdfast.session.park-after", properties.session().parkAfter(), transport::parkAfter);
        return transport;
    }

    private EdgeOptions edge(SessionStore store) {
        boolean restarts = store.promise().durability() != SessionStore.Durability.NOTHING;
        return restarts && properties.connection().retryInterval() == null
                ? edge.toBuilder().retryInterval(RETRY_OVER_A_RESTART).build()
                : edge;
    }

    /** Refuses a path whose requests could be taken for those of another. */
    private static String apart(String path, List<Setting<String>> others) {
        others.stream()
                .filter(other -> path.endsWith(other.value()) || other.value().endsWith(path))
                .findFirst()
                .ifPresent(other -> {
                    throw new IllegalArgumentException("it and " + other.property() + ", which is " + other.value()
                            + ", must not end with one another");
                });
        return path;
    }

    private static Duration drain(Duration timeout) {
        if (timeout.isNegative() || timeout.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("drainTimeout must be 0 to 1 hour");
        }
        return timeout;
    }

    private static EdgeOptions edge(
            HoldfastProperties properties, List<Setting<String>> ssePaths, Optional<SpringAiServer> springAi) {
        EdgeOptions.Builder edge = EdgeOptions.builder();
        HoldfastProperties.Connection connection = properties.connection();
        turn("holdfast.connection.heartbeat-interval", connection.heartbeatInterval(), edge::heartbeatInterval);
        turnIfSet("holdfast.connection.retry-interval", connection.retryInterval(), edge::retryInterval);
        turn("holdfast.connection.max-age", connection.maxAge(), edge::maxConnectionAge);
        turn("holdfast.connection.stall-deadline", connection.stallDeadline(), edge::stallDeadline);
        HoldfastProperties.Request request = properties.request();
        turn("holdfast.request.max-size", request.maxSize(), size -> edge.maxRequestSize(bytes(size)));
        turnIfSet(
                "holdfast.request.max-total-size",
                request.maxTotalSize(),
                size -> edge.maxRequestBytes(size.toBytes()));
        turn("holdfast.request.deadline", request.deadline(), edge::requestDeadline);
        turn("holdfast.request.allowed-hosts", request.allowedHosts(), edge::allowedHosts);
        turn("holdfast.request.allowed-origins", request.allowedOrigins(), edge::allowedOrigins);
        edge.protocols(Protocols.valueOf(properties.protocols().name()));
        edge.isolation(Isolation.valueOf(properties.isolation().name()));
        turn("holdfast.tasks.after", properties.tasks().after(), edge::taskAfter);
        turn("holdfast.tasks.retention", properties.tasks().retention(), edge::taskRetention);
        boolean keepsSessions = first(
                        "disallow-delete",
                        properties.disallowDelete(),
                        springAi.flatMap(server -> server.setting("streamable-http.disallow-delete", Boolean.class)),
                        false)
                .value();
        return edge.lifetime(lifetime(properties.session()))
                .allowDelete(!keepsSessions)
                .httpSse(
                        ssePaths.isEmpty()
                                ? Optional.empty()
                                : Optional.of(httpSse(properties.sse(), ssePaths, springAi)))
                .build();
    }

    private static int bytes(DataSize size) {
        if (size.toBytes() < 1 || size.toBytes() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("maxRequestSize must be at least 1B and less than 2GB, as in 64MB");
        }
        return (int) size.toBytes();
    }

    private static Lifetime lifetime(HoldfastProperties.Session from) {
        Lifetime lifetime = Lifetime.DEFAULT;
        lifetime = turn("holdfast.session.reconnect-grace-period", from.reconnectGracePeriod(), lifetime::withGrace);
        lifetime = turn("holdfast.session.idle-timeout", from.idleTimeout(), lifetime::withIdle);
        lifetime = turn("holdfast.session.response-retention", from.responseRetention(), lifetime::withRetention);
        lifetime = turn(
                "holdfast.session.initialization-timeout", from.initializationTimeout(), lifetime::withInitialization);
        return turn("holdfast.session.max-call-duration", from.maxCallDuration(), lifetime::withCall);
    }

    private static List<Setting<String>> ssePaths(HoldfastProperties.Sse from, Optional<SpringAiServer> springAi) {
        return List.of(
                first(
                        "sse.endpoint",
                        from.endpoint(),
                        springAi.flatMap(server -> server.setting("sse-endpoint", String.class)),
                        "/sse"),
                first(
                        "sse.message-endpoint",
                        from.messageEndpoint(),
                        springAi.flatMap(server -> server.setting("sse-message-endpoint", String.class)),
                        springAi.isPresent() ? "/mcp/message" : "/message"));
    }

    private static HttpSseOptions httpSse(
            HoldfastProperties.Sse from, List<Setting<String>> paths, Optional<SpringAiServer> springAi) {
        Setting<String> endpoint = paths.get(0);
        HttpSseOptions alone = endpoint.turn(path -> HttpSseOptions.DEFAULT.withPaths(path, path + "-message"));
        HttpSseOptions sse = paths.get(1)
                .turn(path ->
                        alone.withPaths(alone.path(), path.startsWith("/") ? apart(path, List.of(endpoint)) : path));
        sse = first("sse.base-url", from.baseUrl(), springAi.flatMap(SpringAiServer::baseUrl), "")
                .turn(sse::withBase);
        return turn("holdfast.sse.reconnect-grace-period", from.reconnectGracePeriod(), sse::withReconnectGrace);
    }

    private static SessionLimits limits(HoldfastProperties.History from) {
        try {
            return new SessionLimits(
                    from.streamSize().toBytes(),
                    from.streamMessages(),
                    from.sessionSize().toBytes(),
                    from.sessionMessages(),
                    from.finishedStreams(),
                    from.runningCalls());
        } catch (IllegalArgumentException refused) {
            Map<String, Setting<?>> byComponent = Map.of(
                    "streamBytes", new Setting<>("holdfast.history.stream-size", from.streamSize()),
                    "streamEvents", new Setting<>("holdfast.history.stream-messages", from.streamMessages()),
                    "sessionBytes", new Setting<>("holdfast.history.session-size", from.sessionSize()),
                    "sessionEvents", new Setting<>("holdfast.history.session-messages", from.sessionMessages()),
                    "finishedStreams", new Setting<>("holdfast.history.finished-streams", from.finishedStreams()),
                    "runningCalls", new Setting<>("holdfast.history.running-calls", from.runningCalls()));
            // the message begins with the name of the component
            String component = String.valueOf(refused.getMessage()).split(" ", 2)[0];
            throw Objects.requireNonNull(byComponent.get(component), component).refused(refused);
        }
    }

    private static NodeLimits nodeLimits(HoldfastProperties.Node from) {
        NodeLimits limits = NodeLimits.DEFAULT;
        limits = turn("holdfast.node.max-sessions", from.maxSessions(), limits::withSessions);
        limits = turn(
                "holdfast.node.max-principal-sessions", from.maxPrincipalSessions(), limits::withPrincipalSessions);
        limits = turn("holdfast.node.max-running-calls", from.maxRunningCalls(), limits::withRunningCalls);
        limits = turn("holdfast.node.principal-share", from.principalShare(), limits::withPrincipalShare);
        DataSize size = from.historySize();
        if (size != null) {
            NodeLimits by = limits;
            limits = turn("holdfast.node.history-size", size, v -> by.withHistory(v.toBytes(), by.historyEvents()));
        }
        NodeLimits with = limits;
        return turn(
                "holdfast.node.history-messages",
                from.historyMessages(),
                v -> with.withHistory(with.historyBytes(), v));
    }
}
