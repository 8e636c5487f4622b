package dev.holdfast.gateway;

import dev.holdfast.ByteBudget;
import dev.holdfast.Quota;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.engine.EngineGroup;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.engine.SessionEngineBuilder;
import dev.holdfast.gateway.demo.DemoServer;
import dev.holdfast.gateway.http.OpenToOthers;
import dev.holdfast.gateway.http.StatusPages;
import dev.holdfast.gateway.process.ChildRegister;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.stdio.StdioBackend;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.json.HintedBackend;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.McpServlet;
import dev.holdfast.servlet.console.Console;
import dev.holdfast.spi.Backend;
import dev.holdfast.upstream.ForwardedHeaders;
import dev.holdfast.upstream.UpstreamBackend;
import dev.holdfast.upstream.UpstreamHttp;
import jakarta.servlet.http.HttpServlet;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** One MCP server that is served: its sessions, behind an endpoint, over a store. */
final class Service {
    /** Children that the console names. */
    private static final int MOST_SHOWN = 200;

    private final Node node;
    private final StoreChoice.Open store;
    private final Meters.OfServer meters;
    private final Served served;
    /** Its processes, where it has some. */
    private Supplier<Optional<Console.Children>> children = Optional::empty;
    /** What ends its parts, the latest first; blocks until nothing of them is left. */
    private final Deque<Runnable> ends = new ArrayDeque<>();

    private volatile ServeOptions options;

    /**
     * What all services of a gateway share.
     *
     * @param names host names by which it may be called, beside those that are allowed
     * @param isLocal whether only this machine can reach it
     * @param authenticator tells for a server who asks
     * @param connections those of its HTTP server
     * @param engines of many servers; nothing where there is one
     * @param watches who hears of the sessions of a server, by its name
     * @param meters are made while the port and the store are opened
     * @param clock tells the time to engines and backends
     */
    record Node(
            List<String> names,
            boolean isLocal,
            Function<ServeOptions, Authenticator> authenticator,
            Quota connections,
            ByteBudget budget,
            Optional<EngineGroup> engines,
            Function<String, SessionLifecycleListener> watches,
            CompletableFuture<Meters> meters,
            ScheduledExecutorService clock) {
        /** The edge of a server here. */
        EdgeOptions edge(ServeOptions options, ForwardedHeaders forwarded) {
            return options.edge(names, forwarded).toBuilder()
                    .authenticator(authenticator.apply(options))
                    .connections(Optional.of(connections))
                    .build();
        }
    }

    /**
     * What is served.
     *
     * @param guard shows the status pages to those whom the endpoint serves
     * @param change makes it another server for sessions that begin, or gives all of them other headers
     */
    private record Served(
            HttpServlet endpoint, StatusPages.Guard guard, SessionEngine engine, Consumer<ServerChoice> change) {
        private Served(McpServlet endpoint, SessionEngine engine, Consumer<ServerChoice> change) {
            this(endpoint, endpoint::visitor, engine, change.andThen(changed -> endpoint.renew()));
        }
    }

    private Service(ServeOptions options, Node node, StoreChoice.Open store) {
        this.options = options;
        this.node = node;
        this.store = store;
        this.meters = node.meters.join().of(options.name());
        try {
            this.served = served();
            meters.watch(served.engine);
        } catch (RuntimeException | Error e) {
            endParts();
            meters.close();
            throw e;
        }
    }

    private Served served() {
        ForwardedHeaders forwarded = ForwardedHeaders.named(options.get(Knobs.FORWARD_HEADER));
        EdgeOptions edge = node.edge(options, forwarded);
        if (options.server() instanceof ServerChoice.Command command) {
            return stdio(command.command(), edge);
        }
        return options.server() instanceof ServerChoice.Upstream upstream
                ? upstream(upstream, forwarded, edge)
                : demo(edge);
    }

    /**
     * Starts to serve.
     *
     * @throws GatewayException if that cannot be here
     */
    static Service open(ServeOptions options, Node node) {
        requireExecutable(options.server());
        StoreChoice.Open store = options.store().open(options.identity());
        try {
            options.store().folder().ifPresent(OpenToOthers::complain);
            return new Service(options, node, store);
        } catch (RuntimeException | Error e) {
            store.close();
            throw e;
        }
    }

    /**
     * Looks whether another can begin where this one ends.
     *
     * @throws GatewayException if it cannot
     */
    void requireSuccessor(ServeOptions next) {
        requireExecutable(next.server());
        if (next.store().opensBeside(options.store())) {
            next.store().open(next.identity()).close();
        }
    }

    /** Fails with a {@link GatewayException} if it is a command that is not there. */
    private static void requireExecutable(ServerChoice server) {
        if (server instanceof ServerChoice.Command choice
                && choice.command().executable().isEmpty()) {
            throw new GatewayException("the command " + choice.command().fault() + ": "
                    + choice.command().program());
        }
    }

    /** A child process for each session. */
    private Served stdio(ServerCommand command, EdgeOptions edge) {
        // what a child says on its error output may name files and secrets of this machine
        boolean shown = node.isLocal || options.get(Knobs.SHOW_CHILD_ERRORS);
        StdioOptions child = StdioOptions.DEFAULT.withStartTimeout(options.get(Knobs.START_TIMEOUT));
        Processes any = Processes.ofThisMachine();
        Processes processes = options.store()
                .folder()
                .map(folder -> ChildRegister.open(folder, any, node.clock, child.termGrace()))
                .orElse(any);
        StdioBackend backend = new StdioBackend(
                options.name(),
                command,
                shown ? child : child.withoutErrors(),
                processes,
                options.maxChildren(),
                node.clock,
                node.budget);
        ends.push(backend::close);
        meters.watch(backend);
        children = () -> Optional.of(children(backend));
        HintedBackend hinted = new HintedBackend(backend);
        SessionEngine engine = engine(hinted);
        return new Served(new McpServlet(engine, edge), engine, next -> {
            // in this order, so that nothing of the command before is taken for what the next one says
            backend.runs(((ServerChoice.Command) next).command());
            hinted.renew();
        });
    }

    private static Console.Children children(StdioBackend backend) {
        Map<Long, String> running = backend.running(MOST_SHOWN);
        running.replaceAll((pid, session) -> Console.shortened(session));
        return new Console.Children(
                backend.size(),
                backend.mostConnections(),
                backend.started(),
                backend.died() + backend.unstarted(),
                running);
    }

    /** A session at another server for each session. */
    private Served upstream(ServerChoice.Upstream server, ForwardedHeaders forwarded, EdgeOptions edge) {
        UpstreamBackend backend = UpstreamBackend.builder(server.url())
                .http(UpstreamHttp.jetty())
                .headers(server.headers())
                .forward(forwarded)
                .openTimeout(options.get(Knobs.START_TIMEOUT))
                .scheduler(node.clock)
                .budget(node.budget)
                .open();
        ends.push(backend::close);
        SessionEngine engine = engine(backend);
        return new Served(new McpServlet(engine, edge), engine, next -> {
            ServerChoice.Upstream other = (ServerChoice.Upstream) next;
            backend.moveTo(other.url(), other.headers());
        });
    }

    private SessionEngine engine(Backend backend) {
        SessionEngineBuilder builder = SessionEngine.builder(backend, JsonRpc.MESSAGES)
                .scheduler(node.clock)
                .store(meters.timed(store.sessions()))
                .listener(listener())
                .callListener(meters.calls())
                .parkAfter(options.get(Knobs.PARK_AFTER))
                .nodeName(options.store().node().name())
                .lease(options.store().node().lease())
                .nodeLimits(options.limits())
                .budget(node.budget)
                .serverName(options.name());
        node.engines.ifPresent(builder::group);
        SessionEngine engine = builder.build();
        ends.push(engine::close);
        return engine.start();
    }

    private SessionLifecycleListener listener() {
        return SessionLifecycleListener.all(List.of(meters.sessions(), node.watches.apply(options.name())));
    }

    private Served demo(EdgeOptions edge) {
        HoldfastTransportProvider provider = HoldfastTransportProvider.builder()
                .mcpEndpoint(options.path())
                .nodeLimits(options.limits())
                .edgeOptions(edge)
                .store(meters.timed(store.sessions()))
                .sessionLifecycleListener(listener())
                .callListener(meters.calls())
                .parkAfter(options.get(Knobs.PARK_AFTER))
                .nodeName(options.store().node().name())
                .lease(options.store().node().lease())
                .build();
        DemoServer.start(provider);
        return new Served(provider, provider::visitor, provider.engine(), next -> {});
    }

    /** What was asked for. */
    ServeOptions options() {
        return options;
    }

    HttpServlet endpoint() {
        return served.endpoint;
    }

    /** Shows pages to those whom it serves. */
    StatusPages.Guard guard() {
        return served.guard;
    }

    SessionEngine engine() {
        return served.engine;
    }

    /** What the console shows of it. */
    Console.Server shown() {
        StatusPages.Server status = status();
        return new Console.Server(
                options.name(),
                options.server().identity().name(),
                served.engine.sharesSessions() ? options.store().node().name() : "",
                served.engine,
                status.store().kind(),
                () -> status.store().trouble(),
                children);
    }

    /** What the status pages tell of it. */
    StatusPages.Server status() {
        return new StatusPages.Server(options.name(), served.engine, store.health());
    }

    /**
     * Becomes what is asked for: sessions that begin, or come back, have the new server, and those that are there go on with theirs;
     * where only its headers are others, all send those.
     *
     * @throws GatewayException if that cannot be here; then nothing has changed
     */
    void become(ServeOptions next) {
        if (!next.server().equals(options.server())) {
            requireExecutable(next.server());
            served.change.accept(next.server());
        }
        options = next;
    }

    /** Lets running calls end, hands connections over, and ends sessions and their backend; blocks until that is done. */
    void end(Duration timeout) {
        try {
            served.engine.drain(timeout).toCompletableFuture().join();
        } finally {
            endParts();
        }
    }

    /** Each of them, though the end of another fails. */
    private void endParts() {
        Runnable end = ends.poll();
        if (end != null) {
            try {
                end.run();
            } finally {
                endParts();
            }
        }
    }

    /** Closes the store, after the end. */
    void close() {
        meters.close();
        store.close();
    }
}
