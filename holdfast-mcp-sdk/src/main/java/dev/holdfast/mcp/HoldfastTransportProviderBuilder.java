package dev.holdfast.mcp;

import dev.holdfast.CallListener;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionLimits;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.engine.SessionEngineBuilder;
import dev.holdfast.json.HintedBackend;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.SessionStore;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.ServerHttpHeaderValidator;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityValidator;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Builds a {@link HoldfastTransportProvider}. The knobs of the official builder have their official names, meanings and defaults,
 * but for {@link #sessionSweepInterval} and the default of {@link #maxRequestSize}; each throws {@link IllegalArgumentException} if a value
 * is out of its range. For one thread at a time.
 */
public final class HoldfastTransportProviderBuilder {
    private static final String PART = "(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~!$&'()+,=:@-]++";
    /** What clients ask for as it is written, and a servlet can be mapped to. */
    private static final Pattern PATH = Pattern.compile("/|/?+" + PART + "(?:/" + PART + ")*+/?+");

    private static final Duration LONGEST_KEEP_ALIVE = Duration.ofDays(36_500);

    @Nullable McpJsonMapper jsonMapper;

    String mcpEndpoint = "/mcp";
    McpTransportContextExtractor<HttpServletRequest> contextExtractor = RequestContext.NOTHING;

    @Nullable Duration keepAliveInterval = Duration.ofMinutes(30);

    boolean immediateExecution;
    HeaderCheck headers = HeaderCheck.NONE;
    EdgeOptions edge = EdgeOptions.DEFAULT;
    /** What single methods have set of the edge: it wins over {@link #edgeOptions}, whichever is called first. */
    private final List<UnaryOperator<EdgeOptions>> edgeKnobs = new ArrayList<>();

    private NodeLimits nodeLimits = NodeLimits.DEFAULT;
    private CallListener calls = CallListener.NONE;
    private final List<Consumer<SessionEngineBuilder>> knobs = new ArrayList<>();
    /** Builds nothing: it refuses values when they are given. */
    private final SessionEngineBuilder range = SessionEngine.builder(
            (request, sink) -> {
                throw new IllegalStateException();
            },
            JsonRpc.MESSAGES);

    HoldfastTransportProviderBuilder() {}

    /** An engine for a backend. */
    SessionEngine engine(Backend backend) {
        SessionEngineBuilder engine = SessionEngine.builder(new HintedBackend(backend), JsonRpc.MESSAGES);
        knobs.forEach(knob -> knob.accept(engine));
        return engine.build();
    }

    /** How the context of a request is made, for the backend and for who follows calls. */
    Function<HttpServletRequest, Object> context() {
        return RequestContext.of(contextExtractor, calls.headers());
    }

    private HoldfastTransportProviderBuilder engine(Consumer<SessionEngineBuilder> knob) {
        knob.accept(range);
        knobs.add(knob);
        return this;
    }

    /** How JSON is read and written. Default: the SDK's default mapper. */
    public HoldfastTransportProviderBuilder jsonMapper(McpJsonMapper value) {
        jsonMapper = Objects.requireNonNull(value, "jsonMapper");
        return this;
    }

    /**
     * The end of the path that is served: {@code /}, or letters, digits and {@code ._~-!$&'()+,=:@} between single slashes, one at
     * its end or none: requests for both are served. Default {@code /mcp}.
     */
    public HoldfastTransportProviderBuilder mcpEndpoint(String value) {
        Objects.requireNonNull(value, "mcpEndpoint");
        if (!PATH.matcher(value).matches()) {
            throw new IllegalArgumentException(
                    "mcpEndpoint must be / or of letters, digits and ._~-!$&'()+,=:@ between single '/', without a part that is . or"
                            + " .., got " + value);
        }
        mcpEndpoint = value.length() > 1 && value.endsWith("/") ? value.substring(0, value.length() - 1) : value;
        return this;
    }

    /** Whether clients may not end their sessions by DELETE. Default false. */
    public HoldfastTransportProviderBuilder disallowDelete(boolean value) {
        return edge(edge -> edge.allowDelete(!value));
    }

    /** What handlers find in their transport context. Default nothing. */
    public HoldfastTransportProviderBuilder contextExtractor(McpTransportContextExtractor<HttpServletRequest> value) {
        contextExtractor = Objects.requireNonNull(value, "contextExtractor");
        return this;
    }

    /**
     * How often clients that listen are pinged by JSON-RPC, 1 ms to 36,500 days; null for never. Default 30 minutes, as in mcp-core 2.1.0;
     * 2.0.0 pings nobody unless it is told to.
     */
    public HoldfastTransportProviderBuilder keepAliveInterval(@Nullable Duration value) {
        if (value != null && (value.compareTo(Duration.ofMillis(1)) < 0 || value.compareTo(LONGEST_KEEP_ALIVE) > 0)) {
            throw new IllegalArgumentException("keepAliveInterval must be 1 ms to 36,500 days, got " + value);
        }
        keepAliveInterval = value;
        return this;
    }

    /**
     * Whether the server on this transport is built with {@code immediateExecution(true)}, so that its handlers run on the thread
     * that calls them. Then that is the thread of the request, always, with the thread-locals that filters have set: it waits for
     * the body of a request, for the store, and for the session that comes back after a restart. Default false: no thread waits
     * for any of these.
     */
    public HoldfastTransportProviderBuilder immediateExecution(boolean value) {
        immediateExecution = value;
        return this;
    }

    /** @deprecated as in the SDK from 2.1.0 on: use {@link #httpHeaderValidator} */
    @Deprecated
    public HoldfastTransportProviderBuilder securityValidator(ServerTransportSecurityValidator value) {
        headers = HeaderCheck.by(Objects.requireNonNull(value, "securityValidator"));
        return this;
    }

    /**
     * A further check of a request's headers, before our own of Host and Origin. Default none. Its type came with mcp-core 2.1.0:
     * before that, use {@link #securityValidator}.
     *
     * @param <V> erased to {@link Object}, so that an SDK without the type does not stand in the way of who reflects over this class
     */
    @SuppressWarnings("ExtendsObject") // it is what the type is erased to
    public <V extends Object & ServerHttpHeaderValidator> HoldfastTransportProviderBuilder httpHeaderValidator(
            V value) {
        headers = HeaderCheck.Since21.by(value);
        return this;
    }

    /** Bytes of a request body, at least 1. Default 4 MiB, where mcp-core 2.1.0 has 16 MiB. */
    public HoldfastTransportProviderBuilder maxRequestSize(int value) {
        return edge(edge -> edge.maxRequestSize(value));
    }

    /** The official name of what is {@link #sessionIdleTimeout} here; null for no timeout. Default 30 minutes. */
    public HoldfastTransportProviderBuilder sessionSweepInterval(@Nullable Duration value) {
        return sessionIdleTimeout(value == null ? Duration.ofDays(36_500) : value);
    }

    /** How long a session waits whose last connection ended in order, 1 ms and up. Default 30 minutes. */
    public HoldfastTransportProviderBuilder sessionIdleTimeout(Duration value) {
        if (value.compareTo(Duration.ofMillis(1)) < 0) {
            throw new IllegalArgumentException("sessionIdleTimeout must be at least 1 ms, got " + value);
        }
        return lifetime(lifetime -> lifetime.withIdle(value));
    }

    /**
     * How long a session whose last connection broke waits for its client, zero and up; zero closes it when its last connection
     * breaks. Default 30 minutes.
     */
    public HoldfastTransportProviderBuilder sessionReconnectGracePeriod(Duration value) {
        return lifetime(lifetime -> lifetime.withGrace(value));
    }

    /**
     * How long a response is kept for a client that may not have got it though its connection ended in order: it was asleep,
     * for example. Zero and up; a limit may need the room earlier. Default 60 s.
     */
    public HoldfastTransportProviderBuilder responseRetention(Duration value) {
        return lifetime(lifetime -> lifetime.withRetention(value));
    }

    /** How long a session waits for the first request that names it, 1 ms and up. Default 60 s. */
    public HoldfastTransportProviderBuilder initializationTimeout(Duration value) {
        return lifetime(lifetime -> lifetime.withInitialization(value));
    }

    /** How long a call may run; then its client gets an error and its handler is cancelled, 1 ms and up. Default 1 hour. */
    public HoldfastTransportProviderBuilder maxCallDuration(Duration value) {
        return lifetime(lifetime -> lifetime.withCall(value));
    }

    /** Who hears of sessions. Default nobody. */
    public HoldfastTransportProviderBuilder sessionLifecycleListener(SessionLifecycleListener value) {
        return engine(engine -> engine.listener(value));
    }

    /** Who hears of calls: metrics and traces, for example. Default nobody. */
    public HoldfastTransportProviderBuilder callListener(CallListener value) {
        calls = value;
        return engine(engine -> engine.callListener(value));
    }

    /**
     * Serves HTTP+SSE (2024-11-05) as well: the end of the path of its GET, {@code /sse} by custom. It and {@link #messageEndpoint} may not
     * end with one another, at no time: where both change, the one comes first that does not meet the old value of the other. Default:
     * not served, unless another method that concerns HTTP+SSE is called; then {@code /sse}.
     */
    public HoldfastTransportProviderBuilder sseEndpoint(String value) {
        return sse(o -> o.withPaths(value, o.messagePath()));
    }

    /** The end of the path that clients of HTTP+SSE POST to. Serves HTTP+SSE, as {@link #sseEndpoint} does. Default {@code /message}. */
    public HoldfastTransportProviderBuilder messageEndpoint(String value) {
        return sse(o -> o.withPaths(o.path(), value));
    }

    /**
     * What clients of HTTP+SSE shall put before {@link #messageEndpoint}, see {@link HttpSseOptions#base}. Serves HTTP+SSE, as {@link
     * #sseEndpoint} does. Default: what they have put before the path of the GET.
     */
    public HoldfastTransportProviderBuilder baseUrl(String value) {
        return sse(o -> o.withBase(value));
    }

    /**
     * How long a session over HTTP+SSE whose connection broke waits for its client, zero and up; zero ends it at once. Serves HTTP+SSE, as
     * {@link #sseEndpoint} does. Default zero.
     */
    public HoldfastTransportProviderBuilder sseReconnectGracePeriod(Duration value) {
        return sse(o -> o.withReconnectGrace(value));
    }

    /** How long a connection may be silent before a comment is written on it, 100 ms to 1 hour. Default 15 s. */
    public HoldfastTransportProviderBuilder heartbeatInterval(Duration value) {
        return edge(edge -> edge.heartbeatInterval(value));
    }

    /** What every stream tells the client to wait before it reconnects, 0 to 1 hour. Default 2 s. */
    public HoldfastTransportProviderBuilder retryInterval(Duration value) {
        return edge(edge -> edge.retryInterval(value));
    }

    /** After this a connection is ended in order before a proxy cuts it; zero for never, else at least 1 s. Default zero. */
    public HoldfastTransportProviderBuilder maxConnectionAge(Duration value) {
        return edge(edge -> edge.maxConnectionAge(value));
    }

    /** The host names by which a client may call, see {@link EdgeOptions#allowedHosts}. Default none. */
    public HoldfastTransportProviderBuilder allowedHosts(List<String> value) {
        return edge(edge -> edge.allowedHosts(value));
    }

    /** The origins browsers may come from, see {@link EdgeOptions#allowedOrigins}. Default none. */
    public HoldfastTransportProviderBuilder allowedOrigins(List<String> value) {
        return edge(edge -> edge.allowedOrigins(value));
    }

    /** Who is asking. Default: the user that the servlet container knows, or nobody. */
    public HoldfastTransportProviderBuilder authenticator(Authenticator value) {
        return edge(edge -> edge.authenticator(value));
    }

    /** How much a session may hold. Default {@link SessionLimits#DEFAULT}. */
    public HoldfastTransportProviderBuilder historyLimits(SessionLimits value) {
        return engine(engine -> engine.limits(value));
    }

    /** How many sessions there may be, and what all together may hold. Default {@link NodeLimits#DEFAULT}. */
    public HoldfastTransportProviderBuilder nodeLimits(NodeLimits value) {
        nodeLimits = value;
        return engine(engine -> engine.nodeLimits(value));
    }

    /** How many sessions there may be, 1 and up. Default 10,000. */
    public HoldfastTransportProviderBuilder maxSessions(int value) {
        return nodeLimits(nodeLimits.withSessions(value));
    }

    /** What keeps sessions beyond this process's memory; the caller closes it. Default: nothing. */
    public HoldfastTransportProviderBuilder store(SessionStore value) {
        return engine(engine -> engine.store(value));
    }

    /**
     * When a session whose last connection broke leaves memory and waits in the store, if that outlives this process: 10
     * seconds to 365 days; where nodes share the store, also one whose last connection ended in order. Its session of the SDK's server is
     * closed then. Default 10 minutes.
     */
    public HoldfastTransportProviderBuilder parkAfter(Duration value) {
        return engine(engine -> engine.parkAfter(value));
    }

    /**
     * The name of this node among those that share the store, for people who read logs; it need not
     * be unique. At most 64 letters, digits, dots, dashes and underscores. Default {@code node}.
     */
    public HoldfastTransportProviderBuilder nodeName(String value) {
        return engine(engine -> engine.nodeName(value));
    }

    /**
     * How long other nodes that share the store wait for this one when it is silent, 500 ms to 5 minutes, and longer than the store
     * may take to answer; then what it ran is ended by them, or run again. Default 3 s.
     */
    public HoldfastTransportProviderBuilder lease(Duration value) {
        return engine(engine -> engine.lease(value));
    }

    /**
     * Every knob of the edge at once, but for {@link EdgeOptions#context}. A knob that is set by a method of this builder keeps
     * its value, whichever is called first: an authenticator is never replaced by that of these options.
     */
    public HoldfastTransportProviderBuilder edgeOptions(EdgeOptions value) {
        edge = Objects.requireNonNull(value, "edgeOptions");
        edgeKnobs.forEach(knob -> edge = knob.apply(edge));
        return this;
    }

    private HoldfastTransportProviderBuilder edge(UnaryOperator<EdgeOptions.Builder> change) {
        return edgeKnob(options -> change.apply(options.toBuilder()).build());
    }

    private HoldfastTransportProviderBuilder edgeKnob(UnaryOperator<EdgeOptions> knob) {
        edge = knob.apply(edge);
        edgeKnobs.add(knob);
        return this;
    }

    private HoldfastTransportProviderBuilder lifetime(UnaryOperator<Lifetime> change) {
        return edgeKnob(options ->
                options.toBuilder().lifetime(change.apply(options.lifetime())).build());
    }

    private HoldfastTransportProviderBuilder sse(UnaryOperator<HttpSseOptions> change) {
        return edgeKnob(options -> options.toBuilder()
                .httpSse(Optional.of(change.apply(options.httpSse().orElse(HttpSseOptions.DEFAULT))))
                .build());
    }

    /**
     * Builds the transport; the SDK server that is built on it starts it.
     *
     * @throws IllegalArgumentException if a knob is out of its range, two paths could be taken for each other, or the {@link #lease} is not
     *     longer than the store may take to answer
     */
    public HoldfastTransportProvider build() {
        edge.httpSse().filter(sse -> sse.conflictsWith(mcpEndpoint)).ifPresent(sse -> {
            boolean stream = mcpEndpoint.endsWith(sse.path()) || sse.path().endsWith(mcpEndpoint);
            throw new IllegalArgumentException("mcpEndpoint, which is " + mcpEndpoint + ", and "
                    + (stream
                            ? "sseEndpoint, which is " + sse.path()
                            : "messageEndpoint, which is " + sse.messagePath())
                    + ", must not end with one another");
        });
        return new HoldfastTransportProvider(this);
    }
}
