package dev.holdfast.mcp;

import dev.holdfast.CallListener;
import dev.holdfast.Lifetime;
import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.SessionLimits;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import dev.holdfast.servlet.McpEndpoint;
import dev.holdfast.spi.SessionStore;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.server.transport.ServerHttpHeaderValidator;
import io.modelcontextprotocol.server.transport.ServerTransportSecurityValidator;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A Streamable HTTP transport for a server of the official SDK whose sessions outlive their connections. It takes the place of
 * {@code HttpServletStreamableServerTransportProvider}: another class name and another import are the whole migration. With
 * {@link Builder#sseEndpoint} it takes the place of {@code HttpServletSseServerTransportProvider} too, for the same server.
 *
 * <p>A broken connection ends neither session nor running calls; a client that comes back with {@code Last-Event-ID} gets what
 * it missed, once and in order. What the server sends while no client listens is kept.
 *
 * <p>Register it as a servlet with asynchronous support on the path of {@link Builder#mcpEndpoint}, and on those of HTTP+SSE where
 * it is served.
 */
public final class HoldfastTransportProvider extends HttpServlet implements McpStreamableServerTransportProvider {
    private final transient SdkBackend backend;
    private final transient SessionEngine engine;
    private final transient McpEndpoint endpoint;
    private final transient Announcer announcer;
    private final transient HeaderCheck headers;
    private final transient TransportLifecycle lifecycle;
    private final String mcpEndpoint;
    private final List<String> protocolVersions;

    private HoldfastTransportProvider(Builder builder) {
        McpJsonMapper mapper = builder.jsonMapper == null ? McpJsonDefaults.getMapper() : builder.jsonMapper;
        SdkMessages messages = new SdkMessages(mapper);
        this.backend = new SdkBackend(messages, builder.immediateExecution);
        this.engine = builder.core.build(backend);
        this.endpoint = new McpEndpoint(engine, builder.edge.options(builder.core.context(builder.contextExtractor)));
        this.announcer = new Announcer(engine, backend, messages);
        this.headers = builder.headers;
        this.lifecycle = new TransportLifecycle(
                engine, endpoint, Optional.ofNullable(builder.keepAliveInterval).map(backend::keepAlive));
        this.mcpEndpoint = builder.mcpEndpoint;
        this.protocolVersions = builder.edge.protocolVersions();
    }

    /** A builder with every default. */
    public static Builder builder() {
        return new Builder();
    }

    /** The engine under this transport, for what it tells and for its drain. */
    public SessionEngine engine() {
        return engine;
    }

    /** How many streams are open. */
    public int openConnections() {
        return endpoint.openConnections();
    }

    /** As {@link McpEndpoint#admits}: stands before another page of the same server, such as one that tells its stats. */
    public boolean admits(HttpServletRequest request, HttpServletResponse response) {
        return endpoint.admits(request, response);
    }

    @Override
    public List<String> protocolVersions() {
        return protocolVersions;
    }

    /** Called by the SDK when a server is built on this transport; sessions can be opened from here on. */
    @Override
    public void setSessionFactory(McpStreamableServerSession.Factory factory) {
        backend.factory(Objects.requireNonNull(factory, "factory"));
        lifecycle.start();
    }

    /**
     * Sends a notification to every initialized session in memory; it is kept for clients that do not listen now. A session that is
     * parked, or whose client has not come back after a restart, does not get it.
     */
    @Override
    public Mono<Void> notifyClients(String method, Object params) {
        return announcer.toAll(method, params);
    }

    /**
     * Sends a notification to one client; it is kept if the client does not listen now. Nothing happens if no such
     * session is in memory.
     *
     * @param sessionId the id that the client holds, or the SDK's own
     */
    @Override
    public Mono<Void> notifyClient(String sessionId, String method, Object params) {
        return announcer.toOne(sessionId, method, params);
    }

    /**
     * Ends every connection in order, then every session, which stays in the store if that outlives this process. Running calls
     * get an error at once; to let them finish, call {@link SessionEngine#drain} before. Completes when nothing is left in memory, or
     * when a backend has not closed for 10 s.
     */
    @Override
    public Mono<Void> closeGracefully() {
        return lifecycle.close();
    }

    @Override
    public void destroy() {
        closeGracefully().block();
        super.destroy();
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (!request.getRequestURI().endsWith(mcpEndpoint) && !endpoint.servesHttpSse(request)) {
            response.setStatus(HttpServletResponse.SC_NOT_FOUND);
        } else if (headers.admits(request, response)) {
            endpoint.handle(request, response);
        }
    }

    /**
     * Every knob. Those of the official builder have their official names, meanings and defaults, but for {@link
     * #sessionSweepInterval}.
     */
    public static final class Builder {
        private @Nullable McpJsonMapper jsonMapper;
        private String mcpEndpoint = "/mcp";
        private McpTransportContextExtractor<HttpServletRequest> contextExtractor =
                request -> McpTransportContext.EMPTY;
        private @Nullable Duration keepAliveInterval = Duration.ofMinutes(30);
        private boolean immediateExecution;
        private HeaderCheck headers = HeaderCheck.NONE;
        private final EngineKnobs core = new EngineKnobs();
        private final EdgeKnobs edge = new EdgeKnobs();

        /** A builder with every default, as {@link HoldfastTransportProvider#builder} gives. */
        public Builder() {}

        /** How JSON is read and written. Default: the SDK's default mapper. */
        public Builder jsonMapper(McpJsonMapper value) {
            jsonMapper = Objects.requireNonNull(value, "jsonMapper");
            return this;
        }

        /** The end of the path that is served. Default {@code /mcp}. */
        public Builder mcpEndpoint(String value) {
            mcpEndpoint = Objects.requireNonNull(value, "mcpEndpoint");
            return this;
        }

        /** Whether clients may not end their sessions by DELETE. Default false. */
        public Builder disallowDelete(boolean value) {
            return edge(edge -> edge.allowDelete(!value));
        }

        /** What handlers find in their transport context. Default nothing. */
        public Builder contextExtractor(McpTransportContextExtractor<HttpServletRequest> value) {
            contextExtractor = Objects.requireNonNull(value, "contextExtractor");
            return this;
        }

        /** How often clients that listen are pinged by JSON-RPC, 1 ms and up; null for never. Default 30 minutes. */
        public Builder keepAliveInterval(@Nullable Duration value) {
            if (value != null && value.toMillis() < 1) {
                throw new IllegalArgumentException("keepAliveInterval must be at least 1 ms, got " + value);
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
        public Builder immediateExecution(boolean value) {
            immediateExecution = value;
            return this;
        }

        /** @deprecated as in the SDK from 2.1.0 on: use {@link #httpHeaderValidator} */
        @Deprecated
        public Builder securityValidator(ServerTransportSecurityValidator value) {
            headers = HeaderCheck.by(Objects.requireNonNull(value, "securityValidator"));
            return this;
        }

        /**
         * A further check of a request's headers, before our own of Host and Origin. Default none. Its type came with mcp-core 2.1.0:
         * on 2.0.0, use {@link #securityValidator}.
         */
        public Builder httpHeaderValidator(ServerHttpHeaderValidator value) {
            headers = SdkHeaderCheck.by(value);
            return this;
        }

        /** Bytes of a request body, at least 1. Default 4 MiB. */
        public Builder maxRequestSize(int value) {
            return edge(edge -> edge.maxRequestSize(value));
        }

        /** The official name of what is {@link #sessionIdleTimeout} here; null for no timeout. Default 30 minutes. */
        public Builder sessionSweepInterval(@Nullable Duration value) {
            return sessionIdleTimeout(value == null ? Duration.ofDays(36_500) : value);
        }

        /** How long a session waits whose last connection ended in order, 1 ms and up. Default 30 minutes. */
        public Builder sessionIdleTimeout(Duration value) {
            if (value.toMillis() < 1) {
                throw new IllegalArgumentException("sessionIdleTimeout must be at least 1 ms, got " + value);
            }
            return lifetime(lifetime -> lifetime.withIdle(value));
        }

        /**
         * How long a session whose last connection broke waits for its client; zero closes it when its last connection breaks.
         * Default 30 minutes.
         */
        public Builder sessionReconnectGracePeriod(Duration value) {
            return lifetime(lifetime -> lifetime.withGrace(value));
        }

        /**
         * How long a response is kept for a client that may not have got it though its connection ended in order: it was asleep,
         * for example. A limit may need the room earlier. Default 60 s.
         */
        public Builder responseRetention(Duration value) {
            return lifetime(lifetime -> lifetime.withRetention(value));
        }

        /** How long a session waits for the first request that names it, 1 ms and up. Default 60 s. */
        public Builder initializationTimeout(Duration value) {
            return lifetime(lifetime -> lifetime.withInitialization(value));
        }

        /** How long a call may run; then its client gets an error and its handler is cancelled, 1 ms and up. Default 1 hour. */
        public Builder maxCallDuration(Duration value) {
            return lifetime(lifetime -> lifetime.withCall(value));
        }

        /** Who hears of sessions. Default nobody. */
        public Builder sessionLifecycleListener(SessionLifecycleListener value) {
            core.sessions(value);
            return this;
        }

        /** Who hears of calls: metrics and traces, for example. Default nobody. */
        public Builder callListener(CallListener value) {
            core.calls(value);
            return this;
        }

        /** Serves HTTP+SSE (2024-11-05) as well: the end of the path of its GET, {@code /sse} by custom. Default: not served. */
        public Builder sseEndpoint(String value) {
            return sse(o -> o.withPaths(value, o.messagePath()));
        }

        /** The end of the path that clients of HTTP+SSE POST to. Default {@code /message}. */
        public Builder messageEndpoint(String value) {
            return sse(o -> o.withPaths(o.path(), value));
        }

        /** What clients of HTTP+SSE shall put before the path they POST to. Default: nothing; see {@link HttpSseOptions#base}. */
        public Builder baseUrl(String value) {
            return sse(o -> o.withBase(value));
        }

        /** How long a session over HTTP+SSE whose connection broke waits for its client; zero ends it at once. Default zero. */
        public Builder sseReconnectGracePeriod(Duration value) {
            return sse(o -> o.withReconnectGrace(value));
        }

        /** How long a connection may be silent before a comment is written on it, 100 ms to 1 hour. Default 15 s. */
        public Builder heartbeatInterval(Duration value) {
            return edge(edge -> edge.heartbeatInterval(value));
        }

        /** What every stream tells the client to wait before it reconnects, 0 to 1 hour. Default 2 s. */
        public Builder retryInterval(Duration value) {
            return edge(edge -> edge.retryInterval(value));
        }

        /** After this a connection is ended in order before a proxy cuts it; zero for never, else at least 1 s. Default zero. */
        public Builder maxConnectionAge(Duration value) {
            return edge(edge -> edge.maxConnectionAge(value));
        }

        /** The host names by which a client may call, see {@link EdgeOptions#allowedHosts}. Default none. */
        public Builder allowedHosts(List<String> value) {
            return edge(edge -> edge.allowedHosts(value));
        }

        /** The origins browsers may come from, see {@link EdgeOptions#allowedOrigins}. Default none. */
        public Builder allowedOrigins(List<String> value) {
            return edge(edge -> edge.allowedOrigins(value));
        }

        /** Who is asking. Default: the user that the servlet container knows, or nobody. */
        public Builder authenticator(Authenticator value) {
            return edge(edge -> edge.authenticator(value));
        }

        /** How much a session may hold. Default {@link SessionLimits#DEFAULT}. */
        public Builder historyLimits(SessionLimits value) {
            core.limits(value);
            return this;
        }

        /** How many sessions there may be, and what all together may hold. Default {@link NodeLimits#DEFAULT}. */
        public Builder nodeLimits(NodeLimits value) {
            core.nodeLimits(value);
            return this;
        }

        /** How many sessions there may be, 1 and up. Default 10,000. */
        public Builder maxSessions(int value) {
            return nodeLimits(core.nodeLimits().withSessions(value));
        }

        /** Where sessions are kept; the caller closes it. Default: in memory. */
        public Builder store(SessionStore value) {
            core.store(value);
            return this;
        }

        /**
         * When a session whose last connection broke leaves memory and waits in the store, if that outlives this process: 10
         * seconds to 365 days. Its session of the SDK's server is closed then. Default 10 minutes.
         */
        public Builder parkAfter(Duration value) {
            core.parkAfter(value);
            return this;
        }

        /**
         * Every knob of the edge at once, but for {@link EdgeOptions#context}. A knob that is set by a method of this builder keeps
         * its value, whichever is called first: an authenticator is never replaced by that of these options.
         */
        public Builder edgeOptions(EdgeOptions value) {
            edge.base(Objects.requireNonNull(value, "edgeOptions"));
            return this;
        }

        private Builder edge(UnaryOperator<EdgeOptions.Builder> change) {
            edge.set(change);
            return this;
        }

        private Builder lifetime(UnaryOperator<Lifetime> change) {
            edge.lifetime(change);
            return this;
        }

        private Builder sse(UnaryOperator<HttpSseOptions> change) {
            edge.httpSse(change);
            return this;
        }

        /**
         * Builds the transport; the SDK server that is built on it starts it.
         *
         * @throws IllegalArgumentException if a knob is out of its range, or two paths could be taken for each other
         */
        public HoldfastTransportProvider build() {
            edge.requireDistinctPaths(mcpEndpoint);
            return new HoldfastTransportProvider(this);
        }
    }
}
