package dev.holdfast.mcp;

import dev.holdfast.Session;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.json.backend.McpCoreVersion;
import dev.holdfast.servlet.McpEndpoint;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.ProtocolVersions;
import io.modelcontextprotocol.util.KeepAliveScheduler;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * A Streamable HTTP transport for a server of the official SDK whose sessions outlive their connections. It takes the place of
 * {@code HttpServletStreamableServerTransportProvider}: another class name and another import are the whole migration. With
 * {@link HoldfastTransportProviderBuilder#sseEndpoint} it takes the place of {@code HttpServletSseServerTransportProvider} too, for the
 * same server.
 *
 * <p>A broken connection ends neither session nor running calls; a client that comes back with {@code Last-Event-ID} gets what
 * it missed, once and in order. What the server sends while no client listens is kept.
 *
 * <p>Register it as a servlet with asynchronous support on the paths that {@link #endpoints} names.
 */
public final class HoldfastTransportProvider extends HttpServlet implements McpStreamableServerTransportProvider {
    private static final Logger log = LoggerFactory.getLogger(HoldfastTransportProvider.class);
    private static final List<String> STREAMABLE =
            List.of(ProtocolVersions.MCP_2025_03_26, ProtocolVersions.MCP_2025_06_18, ProtocolVersions.MCP_2025_11_25);
    private static final List<String> WITH_HTTP_SSE = Stream.concat(
                    Stream.of(ProtocolVersions.MCP_2024_11_05), STREAMABLE.stream())
            .toList();

    private final transient SdkBackend backend;
    private final transient SessionEngine engine;
    private final transient McpEndpoint endpoint;
    private final transient SdkMessages messages;
    private final transient HeaderCheck headers;
    private final transient Optional<KeepAliveScheduler> keepAlive;
    private final transient AtomicBoolean started = new AtomicBoolean();
    private final String mcpEndpoint;
    private final List<String> endpoints;
    private final List<String> protocolVersions;

    HoldfastTransportProvider(HoldfastTransportProviderBuilder builder) {
        McpJsonMapper mapper = builder.jsonMapper == null ? McpJsonDefaults.getMapper() : builder.jsonMapper;
        this.messages = new SdkMessages(mapper);
        this.backend = new SdkBackend(messages, builder.immediateExecution);
        this.engine = builder.engine(backend);
        this.endpoint = new McpEndpoint(
                engine, builder.edge.toBuilder().context(builder.context()).build());
        this.headers = builder.headers;
        this.keepAlive = Optional.ofNullable(builder.keepAliveInterval).map(backend::keepAlive);
        this.mcpEndpoint = builder.mcpEndpoint;
        List<String> paths = Stream.concat(
                        Stream.of(mcpEndpoint),
                        builder.edge.httpSse().stream().flatMap(sse -> Stream.of(sse.path(), sse.messagePath())))
                .toList();
        Stream<String> withSlash =
                paths.stream().filter(path -> !path.equals("/")).map(path -> path + "/");
        this.endpoints = Stream.concat(paths.stream(), withSlash).toList();
        this.protocolVersions = builder.edge.httpSse().isPresent() ? WITH_HTTP_SSE : STREAMABLE;
    }

    /**
     * A builder with every default.
     *
     * @throws IllegalStateException if Holdfast does not work with this version of mcp-core
     */
    public static HoldfastTransportProviderBuilder builder() {
        McpCoreVersion.requireSupported(McpSchema.class);
        return new HoldfastTransportProviderBuilder();
    }

    /** The engine under this transport, for what it tells and for its drain. */
    public SessionEngine engine() {
        return engine;
    }

    /**
     * The ends of the paths that are served, for whoever registers this servlet: Streamable HTTP, then HTTP+SSE if it is served, then each
     * of them with a slash at its end.
     */
    public List<String> endpoints() {
        return endpoints;
    }

    /** How many streams are open. */
    public int openConnections() {
        return endpoint.openConnections();
    }

    /** As {@link McpEndpoint#admits}: stands before another page of the same server, such as one that tells its stats. */
    public boolean admits(HttpServletRequest request, HttpServletResponse response) {
        return endpoint.admits(request, response);
    }

    /** As {@link McpEndpoint#visitor}: stands before another page, and tells who asks for it. */
    public Optional<String> visitor(HttpServletRequest request, HttpServletResponse response) {
        return endpoint.visitor(request, response);
    }

    @Override
    public List<String> protocolVersions() {
        return protocolVersions;
    }

    /** Called by the SDK when a server is built on this transport; sessions can be opened from here on. */
    @Override
    public void setSessionFactory(McpStreamableServerSession.Factory factory) {
        backend.factory(Objects.requireNonNull(factory, "factory"));
        if (started.compareAndSet(false, true)) {
            engine.start();
            endpoint.start();
            keepAlive.ifPresent(KeepAliveScheduler::start);
        }
    }

    /**
     * Sends a notification to every initialized session in memory; it is kept for clients that do not listen now. A session that is
     * parked, or whose client has not come back after a restart, does not get it.
     */
    @Override
    public Mono<Void> notifyClients(String method, Object params) {
        return announce(method, params, session -> true).onErrorResume(failure -> {
            log.warn("a notification was not kept for every session: {}", failure.toString());
            return Mono.empty();
        });
    }

    /**
     * Sends a notification to one client; it is kept if the client does not listen now. Nothing happens if no such
     * session is in memory.
     *
     * @param sessionId the id that the client holds, or the SDK's own
     */
    @Override
    public Mono<Void> notifyClient(String sessionId, String method, Object params) {
        // where its backend is not there, the session is looked for among all, for whose it is is not known
        return Mono.defer(() -> backend.connection(sessionId)
                .map(connection -> SdkConnection.committed(engine.announce(
                        messages.notification(method, params), connection.clientSessionId(), connection.principal())))
                .orElseGet(
                        () -> announce(method, params, session -> session.id().equals(sessionId))));
    }

    /** It goes into the sessions and not by way of the SDK's: one that has come back may have its client before the SDK knows of it. */
    private Mono<Void> announce(String method, Object params, Predicate<Session> to) {
        return Mono.defer(() -> SdkConnection.committed(engine.announce(messages.notification(method, params), to)));
    }

    /**
     * Ends every connection in order, then every session, which stays in the store if that outlives this process. Running calls
     * get an error at once; to let them finish, call {@link SessionEngine#drain} before. Completes when nothing is left in memory, or
     * after some 12 s though a connection or a backend did not end.
     */
    @Override
    public Mono<Void> closeGracefully() {
        return Mono.fromCompletionStage(() -> engine.drain(Duration.ZERO)).then(Mono.fromRunnable(() -> {
            endpoint.stop();
            keepAlive.ifPresent(KeepAliveScheduler::shutdown);
            engine.close();
        }));
    }

    @Override
    public void destroy() {
        // to its end, though the thread may be interrupted, and on a thread of Reactor's too
        closeGracefully().toFuture().join();
        super.destroy();
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (!serves(request)) {
            response.setStatus(HttpServletResponse.SC_NOT_FOUND);
        } else if (headers.admits(request, response)) {
            endpoint.handle(request, response);
        }
    }

    private boolean serves(HttpServletRequest request) {
        String path = request.getRequestURI();
        return path.endsWith(mcpEndpoint)
                || (path.endsWith("/") && path.startsWith(mcpEndpoint, path.length() - 1 - mcpEndpoint.length()))
                || endpoint.servesHttpSse(request);
    }
}
