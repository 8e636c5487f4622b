package dev.holdfast.upstream;

import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.Requests;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.ServerSession.Successor;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.client.SessionOpener.Protocol;
import dev.holdfast.client.wire.HttpResources;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.HintedBackend;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.net.URI;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An MCP server behind a URL, in any language, as the backend of an engine: each session of the engine has one of its own there. It speaks
 * Streamable HTTP, and HTTP+SSE to a server that has nothing else. A session of the engine holds though the one at the server does not: a
 * connection that breaks is resumed where the server gives event ids, a server that is away is tried again, and one that has lost the
 * session gets another one with the client's {@code initialize}, log level and subscriptions. What may have been executed is sent again
 * only if {@code tools/list} calls it read-only or idempotent; else it ends with an error that says so.
 *
 * <p>Messages pass as the bytes they are. Progress, cancellation and the server's own requests pass in both directions.
 *
 * <pre>{@code
 * UpstreamBackend backend = UpstreamBackend.builder(URI.create("https://tools.example/mcp")).open();
 * SessionEngine engine = SessionEngine.builder(backend, JsonRpc.MESSAGES).build().start();
 * McpServlet servlet = new McpServlet(engine, EdgeOptions.builder().build());
 * }</pre>
 *
 * <p>Close the engine first, then this. Safe for use by any thread, and by one engine.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports">MCP, Transports</a>
 */
public final class UpstreamBackend implements Backend, AutoCloseable {
    static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    private static final Logger log = LoggerFactory.getLogger(UpstreamBackend.class);

    /** Where sessions are opened now, and where some are still open. */
    private final Set<Server> servers = Collections.newSetFromMap(new WeakHashMap<>());

    private final Sessions sessions;
    /** Empty where headers are forwarded: without those of its client a server could show other tools, and no call is run again. */
    private final Optional<HintedBackend> hinted;
    /** The same, hinted or not. */
    private final Backend backend;

    private final UpstreamHttp.Client client;
    private final Runnable clockEnd;

    UpstreamBackend(UpstreamBackendBuilder knobs) {
        ScheduledExecutorService clock = knobs.scheduler.orElseGet(UpstreamBackend::ownClock);
        clockEnd = knobs.scheduler.isPresent() ? () -> {} : clock::shutdownNow;
        try {
            client = knobs.http.start(knobs.url, clock);
        } catch (RuntimeException e) {
            clockEnd.run();
            throw e;
        }
        RemoteServer remote = RemoteServer.at(knobs.url, new WatchedSender(client, knobs.url), clock, client.threads())
                .withLimits(knobs.limits)
                .withRoom(knobs.budget)
                .withDeliveryAtOnce();
        boolean forwards = !knobs.forwarded.names().isEmpty();
        Server server = new Server(remote, knobs.headers);
        servers.add(server);
        sessions = new Sessions(server, new RequestRoom(knobs.budget), knobs.openTimeout, forwards, clock);
        hinted = forwards ? Optional.empty() : Optional.of(new HintedBackend(sessions));
        backend = hinted.<Backend>map(hints -> hints).orElse(sessions);
    }

    private static ScheduledExecutorService ownClock() {
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = Executors.defaultThreadFactory().newThread(task);
            thread.setName("holdfast-upstream-clock");
            thread.setDaemon(true);
            return thread;
        });
        clock.setRemoveOnCancelPolicy(true);
        return clock;
    }

    /**
     * A backend for a server; {@link UpstreamBackendBuilder#open} reaches nobody yet.
     *
     * @param url the endpoint, {@code http} or {@code https}: that of Streamable HTTP, or of the GET of HTTP+SSE
     * @throws IllegalArgumentException if its scheme is another, it has no host, or it has a fragment or credentials in it; the message
     *     names no credentials
     */
    public static UpstreamBackendBuilder builder(URI url) {
        return new UpstreamBackendBuilder(url);
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        return backend.open(request, sink);
    }

    @Override
    public boolean mayBeRerun(InboundMessage request, String principal) {
        return backend.mayBeRerun(request, principal);
    }

    @Override
    public boolean existsOnce() {
        return backend.existsOnce();
    }

    @Override
    public boolean needsContext() {
        return backend.needsContext();
    }

    /**
     * Opens sessions at another server from now on. Those that are open go on where they are for as long as that serves them; then they are
     * opened at the other, where what surely was not executed runs. At the same URL all sessions send the new headers from now on, and none
     * has to be opened again for a token that is renewed; headers for one URL are sent to no other.
     *
     * @param url as that of {@link #builder}
     * @param headers as those of {@link UpstreamBackendBuilder#headers}
     */
    public synchronized void moveTo(URI url, Map<String, String> headers) {
        UpstreamBackendBuilder next = builder(url).headers(headers);
        // one that comes back to its URL finds the sessions that are still open there
        Server there = servers.stream()
                .filter(server -> server.remote.uri().equals(url))
                .findAny()
                .orElseGet(() -> another(url, next.headers));
        servers.add(there);
        there.headers = next.headers;
        there.rules = new RepeatRules();
        sessions.server = there;
        hinted.ifPresent(HintedBackend::renew);
    }

    private Server another(URI url, Map<String, String> headers) {
        client.reaches(url);
        RemoteServer before = sessions.server.remote;
        HttpResources by = before.resources().withHttp(new WatchedSender(client, url));
        return new Server(new RemoteServer(url, by, before.requests(), before.limits()), headers);
    }

    /**
     * Ends the threads of its own; to be called once its sessions have ended. With Jetty's client this breaks what is still on its way;
     * with the JDK's, connections end with their sessions. What the caller brought stays open.
     */
    @Override
    public void close() {
        try {
            client.close();
        } finally {
            clockEnd.run();
        }
    }

    /** Where sessions are opened. */
    private static final class Server {
        private final RemoteServer remote;
        /** What was opened in the place of lost sessions, by the ids that clients hold. */
        private final Map<String, Successor> successors = new ConcurrentHashMap<>();
        /** What its tools say of themselves. */
        private volatile RepeatRules rules = new RepeatRules();
        /** What each request has beside the headers of clients. */
        private volatile Map<String, String> headers;

        private Server(RemoteServer remote, Map<String, String> headers) {
            this.remote = remote;
            this.headers = headers;
        }

        /** The same for a session. */
        private RemoteServer with(Requests.Customizer clients) {
            return remote.withRequests(remote.requests().withCustomizer((request, method, uri, body, context) -> {
                headers.forEach(request::header);
                return clients.customize(request, method, uri, body, context);
            }));
        }
    }

    /** Opens sessions. */
    private static final class Sessions implements Backend {
        /** How long a session that was opened in the place of a lost one is kept for its client. */
        private static final long KEPT_SECONDS = 60;

        private final RequestRoom room;
        private final Duration openTimeout;
        private final boolean forwards;
        private final ScheduledExecutorService clock;
        private volatile Server server;

        /**
         * Opens sessions at a server.
         *
         * @param room what the messages to it take
         * @param openTimeout how long it may take to answer {@code initialize}
         * @param forwards whether headers of requests are passed on to it
         * @param clock ends what takes too long
         */
        private Sessions(
                Server server,
                RequestRoom room,
                Duration openTimeout,
                boolean forwards,
                ScheduledExecutorService clock) {
            this.server = server;
            this.room = room;
            this.openTimeout = openTimeout;
            this.forwards = forwards;
            this.clock = clock;
        }

        @Override
        public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
            Server at = server;
            UpstreamConnection connection = new UpstreamConnection(
                    request,
                    // with headers of its own each client may be shown other tools
                    forwards ? new RepeatRules() : at.rules,
                    sink,
                    room.ofSession(),
                    () -> server != at,
                    // a session has its id once it is open
                    next -> keep(at, sink.sessionId(), next),
                    clock);
            Opening opening = new Opening(
                    request,
                    connection,
                    at.with(connection),
                    Optional.ofNullable(at.successors.remove(sink.sessionId())),
                    clock,
                    new CompletableFuture<>());
            sink.onAnswer(connection::answer);
            sink.onAbandon(() -> opening.abandon("the client has left"));
            return opening.begin(openTimeout);
        }

        private void keep(Server at, String id, Successor next) {
            at.successors.put(id, next);
            Future<?> unused = clock.schedule(() -> at.successors.remove(id, next), KEPT_SECONDS, TimeUnit.SECONDS);
        }

        /** What it sends without being asked must not come once for each node. */
        @Override
        public boolean existsOnce() {
            return true;
        }

        @Override
        public boolean needsContext() {
            return forwards;
        }
    }
    /**
     * The opening of one session, in a bounded time.
     *
     * @param successor a session that the upstream has opened already
     */
    private record Opening(
            OpenRequest request,
            UpstreamConnection connection,
            RemoteServer server,
            Optional<Successor> successor,
            ScheduledExecutorService clock,
            CompletableFuture<Outcome> end) {
        /** How many sessions may be lost while one is opened. */
        private static final int MOST_LOST = 3;

        private static final long PAUSE_MILLIS = 100;

        /** Asks the upstream to {@code initialize}, and lets the time run. */
        private CompletionStage<Outcome> begin(Duration timeout) {
            Future<?> deadline = clock.schedule(
                    () -> abandon("the upstream did not answer initialize within " + timeout.toMillis() + " ms"),
                    timeout.toNanos(),
                    TimeUnit.NANOSECONDS);
            connection.distrusted().thenAccept(this::abandon);
            attempt(MOST_LOST);
            return end.whenComplete((outcome, failure) -> {
                deadline.cancel(false);
                if (!(outcome instanceof Opened)) {
                    connection.room().close();
                }
            });
        }

        /** Gives up, if the upstream has not answered yet. */
        private void abandon(String cause) {
            end.complete(unreachable(cause));
        }

        /** Opens a session; another, where it is lost before it is there. */
        private void attempt(int more) {
            SessionOpener opener = new SessionOpener(server, connection, connection).in(successor);
            end.thenAccept(outcome -> {
                if (!(outcome instanceof Opened)) {
                    opener.close();
                }
            });
            Envelope initialize = ENVELOPES.message(request.initialize());
            CompletableFuture<Envelope> answer = new CompletableFuture<>();
            opener.open(
                            Protocol.AUTOMATIC,
                            initialize,
                            connection.context(request.initialize()),
                            message -> take(initialize, message, answer))
                    .thenAccept(result -> {
                        boolean lost = result instanceof SessionOpener.NotOpened not
                                && not.outcome().sessionLost();
                        if (lost && more > 0) {
                            Future<?> unused =
                                    clock.schedule(() -> attempt(more - 1), PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                        } else {
                            end.complete(
                                    result instanceof SessionOpener.Opened open
                                            ? opened(open.session(), answer.join())
                                            : notOpened(((SessionOpener.NotOpened) result).outcome(), answer));
                        }
                    })
                    .exceptionally(failure -> {
                        abandon("the upstream has not opened a session: " + failure.getMessage());
                        return null;
                    });
        }

        /**
         * Nothing of the session is committed before the response: waiting for the commit of an earlier message would stop the reader
         * before the response.
         */
        private CompletionStage<Void> take(Envelope initialize, Envelope message, CompletableFuture<Envelope> answer) {
            CompletionStage<Void> none = CompletableFuture.completedFuture(null);
            if (message.id().equals(initialize.id()) && message.kind() != Envelope.Kind.REQUEST) {
                answer.complete(message);
                return none;
            }
            CompletionStage<Void> taken = connection.message(message);
            return connection.isOpen() ? taken : none;
        }

        private Outcome opened(ServerSession session, Envelope answer) {
            OutboundMessage message = answer.outbound();
            connection.opened(
                    session, JsonRpc.MESSAGES.introduction(message.bytes()).lists());
            return answer.protocolVersion()
                    .<Outcome>map(revision -> new Opened(connection, message, revision, Optional.empty()))
                    .orElseGet(() -> unreachable("the upstream answered initialize without a protocolVersion"));
        }

        private Outcome notOpened(dev.holdfast.client.Outcome outcome, CompletableFuture<Envelope> answer) {
            if (outcome instanceof dev.holdfast.client.Outcome.Done && answer.isDone()) {
                return new Refused(answer.join().outbound());
            }
            String cause = outcome instanceof dev.holdfast.client.Outcome.Unknown unknown
                    ? "the upstream has not opened a session: " + unknown.reason()
                    : UpstreamErrors.text(outcome).orElse("the upstream has not opened a session");
            return UpstreamErrors.isBusy(outcome) ? new Busy(error(cause), cause) : unreachable(cause);
        }

        private Unreachable unreachable(String cause) {
            log.debug("a session could not be opened: {}", cause);
            return new Unreachable(error(cause), cause);
        }

        private OutboundMessage error(String cause) {
            return JsonRpc.MESSAGES.error(request.initialize().requiredId(), JsonRpc.SERVER_ERROR, cause);
        }
    }
}
