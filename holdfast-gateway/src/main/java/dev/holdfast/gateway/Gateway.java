package dev.holdfast.gateway;

import dev.holdfast.ByteBudget;
import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.demo.DemoServer;
import dev.holdfast.gateway.http.OpenToOthers;
import dev.holdfast.gateway.http.StatusPages;
import dev.holdfast.gateway.http.TokenFile;
import dev.holdfast.gateway.http.WebServer;
import dev.holdfast.gateway.process.ChildRegister;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.stdio.StdioBackend;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.json.HintedBackend;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.McpServlet;
import dev.holdfast.spi.Backend;
import dev.holdfast.upstream.UpstreamBackend;
import dev.holdfast.upstream.UpstreamHttp;
import jakarta.servlet.http.HttpServlet;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A running gateway: sessions of one MCP server, behind an HTTP server, over a store. */
final class Gateway {
    /** How long the head of a request may take. */
    private static final Duration HEAD_TIME = Duration.ofSeconds(60);

    private static final Logger log = LoggerFactory.getLogger(Gateway.class);

    private final ServeOptions options;
    private final Meters meters;
    private final WebServer web;
    private final StoreChoice.Open store;
    private final Service service;

    /**
     * What is served.
     *
     * @param guard shows the status pages to those whom the endpoint serves
     * @param release ends the sessions, then the backend; blocks until nothing of it is left
     */
    private record Service(HttpServlet endpoint, StatusPages.Guard guard, SessionEngine engine, Runnable release) {
        private Service(McpServlet endpoint, SessionEngine engine, Runnable release) {
            this(endpoint, endpoint::admits, engine, release);
        }
    }

    private Gateway(ServeOptions options) {
        this.options = options;
        if (options.server() instanceof ServerChoice.Command server) {
            requireExecutable(server.command());
        }
        // takes some 80 ms, in which the port and the store are opened
        CompletableFuture<Meters> measured = CompletableFuture.supplyAsync(Meters::new);
        String host = options.get(Knobs.HOST);
        InetAddress address = resolve(host);
        Authenticator authenticator = authenticator(address);
        this.web = WebServer.listen(host, address, options.get(Knobs.PORT), HEAD_TIME, options.get(Knobs.KEEP_ALIVE));
        Quota connections =
                new Quota(web.mostConnections(), options.limits().principalShare(), Refusal.PRINCIPAL_SHARE);
        EdgeOptions edge = options.edge(names(host, address)).toBuilder()
                .authenticator(authenticator)
                .connections(Optional.of(connections))
                .build();
        this.store = openStore();
        this.meters = measured.join();
        this.service = service(edge, address);
        meters.watch(service.engine);
        web.start(
                service.endpoint,
                options.paths(),
                new StatusPages(service.engine, service.guard, store.health(), meters::scrape));
    }

    /**
     * Starts to serve.
     *
     * @throws GatewayException if that cannot be here
     */
    static Gateway start(ServeOptions options) {
        return new Gateway(options);
    }

    /**
     * The names that clients may use beside the address that they have reached: what the gateway listens on; but 0.0.0.0 is none,
     * though browsers take it for this machine, and an address with colons is no name.
     */
    static List<String> names(String host, InetAddress address) {
        return address.isAnyLocalAddress() || host.indexOf(':') >= 0 ? List.of() : List.of(host);
    }

    private static void requireExecutable(ServerCommand command) {
        if (command.executable().isEmpty()) {
            throw new GatewayException("the command " + command.fault() + ": " + command.program());
        }
    }

    private static InetAddress resolve(String host) {
        try {
            return InetAddress.getByName(host);
        } catch (UnknownHostException e) {
            throw new GatewayException("cannot listen on " + host + ": no such host", e);
        }
    }

    private Authenticator authenticator(InetAddress address) {
        Optional<Path> tokens = options.settings().find(Knobs.AUTH_TOKEN_FILE);
        if (tokens.isPresent()) {
            return TokenFile.open(new OptionFile(Knobs.AUTH_TOKEN_FILE.name(), tokens.get()), System::nanoTime);
        }
        String host = options.get(Knobs.HOST);
        if (!address.isLoopbackAddress()) {
            if (!options.get(Knobs.INSECURE)) {
                throw new GatewayException("others can reach " + host
                        + ": give them tokens by --auth-token-file, or serve whoever comes by --insecure");
            }
            log.warn("whoever can reach {} is served, for there is no --auth-token-file", host);
        }
        return Authenticator.SERVLET;
    }

    private StoreChoice.Open openStore() {
        try {
            StoreChoice.Open opened = options.store().open(options.server().identity());
            options.store().folder().ifPresent(OpenToOthers::complain);
            return opened;
        } catch (GatewayException e) {
            web.release();
            throw e;
        }
    }

    private Service service(EdgeOptions edge, InetAddress address) {
        if (options.server() instanceof ServerChoice.Demo) {
            return demo(edge);
        }
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, DaemonThreads.named("holdfast-clock"));
        clock.setRemoveOnCancelPolicy(true);
        ByteBudget budget = ByteBudget.ofHeap();
        return options.server() instanceof ServerChoice.Upstream upstream
                ? upstream(upstream, edge, clock, budget)
                : stdio(((ServerChoice.Command) options.server()).command(), edge, address, clock, budget);
    }

    /** A child process for each session. */
    private Service stdio(
            ServerCommand command,
            EdgeOptions edge,
            InetAddress address,
            ScheduledThreadPoolExecutor clock,
            ByteBudget budget) {
        if (ProcessHandle.current().pid() == 1) {
            log.warn(
                    "this is process 1 of its container: what server processes leave behind stays as zombies, unless an init"
                            + " process collects it (docker run --init)");
        }
        // what a child says on its error output may name files and secrets of this machine
        boolean shown = address.isLoopbackAddress() || options.get(Knobs.SHOW_CHILD_ERRORS);
        StdioOptions child = StdioOptions.DEFAULT.withStartTimeout(options.get(Knobs.START_TIMEOUT));
        Processes any = Processes.ofThisMachine();
        Processes processes = options.store()
                .folder()
                .map(folder -> ChildRegister.open(folder, any, clock, child.termGrace()))
                .orElse(any);
        StdioBackend backend = new StdioBackend(
                command, shown ? child : child.withoutErrors(), processes, options.maxChildren(), clock, budget);
        meters.watch(backend);
        SessionEngine engine = engine(new HintedBackend(backend), clock, budget);
        return new Service(new McpServlet(engine, edge), engine, () -> {
            backend.close();
            engine.close();
            clock.shutdownNow();
        });
    }

    /** A session at another server for each session. */
    private Service upstream(
            ServerChoice.Upstream server, EdgeOptions edge, ScheduledThreadPoolExecutor clock, ByteBudget budget) {
        UpstreamBackend backend = UpstreamBackend.builder(server.url())
                .http(UpstreamHttp.jetty())
                .forward(server.forwarded())
                .openTimeout(options.get(Knobs.START_TIMEOUT))
                .scheduler(clock)
                .budget(budget)
                .open();
        SessionEngine engine = engine(backend, clock, budget);
        return new Service(new McpServlet(engine, edge), engine, () -> {
            engine.close();
            clock.shutdownNow();
            backend.close();
        });
    }

    private SessionEngine engine(Backend backend, ScheduledThreadPoolExecutor clock, ByteBudget budget) {
        return SessionEngine.builder(backend, JsonRpc.MESSAGES)
                .scheduler(clock)
                .store(meters.timed(store.sessions()))
                .listener(meters.sessions())
                .callListener(meters.calls())
                .parkAfter(options.get(Knobs.PARK_AFTER))
                .nodeName(options.store().node().name())
                .lease(options.store().node().lease())
                .nodeLimits(options.limits())
                .budget(budget)
                .build()
                .start();
    }

    private Service demo(EdgeOptions edge) {
        HoldfastTransportProvider provider = HoldfastTransportProvider.builder()
                .mcpEndpoint(options.get(Knobs.PATH))
                .nodeLimits(options.limits())
                .edgeOptions(edge)
                .store(meters.timed(store.sessions()))
                .sessionLifecycleListener(meters.sessions())
                .callListener(meters.calls())
                .parkAfter(options.get(Knobs.PARK_AFTER))
                .nodeName(options.store().node().name())
                .lease(options.store().node().lease())
                .build();
        DemoServer.start(provider);
        return new Service(provider, provider::admits, provider.engine(), () -> {});
    }

    /** Where the MCP endpoint is. */
    URI url() {
        String name = options.get(Knobs.HOST);
        String host = name.indexOf(':') >= 0 && !name.startsWith("[") ? "[" + name + "]" : name;
        return URI.create("http://" + host + ":" + web.port() + options.get(Knobs.PATH));
    }

    SessionEngine engine() {
        return service.engine;
    }

    /** Stops on SIGTERM and SIGINT, and exits with 0: the virtual machine itself would report the signal as a failure. */
    void stopOnSignal() {
        Runtime.getRuntime()
                .addShutdownHook(new Thread(
                        () -> {
                            int code = 0;
                            try {
                                stop(options.get(Knobs.DRAIN_TIMEOUT));
                            } catch (RuntimeException e) {
                                log.error("the shutdown failed", e);
                                code = 1;
                            }
                            Runtime.getRuntime().halt(code);
                        },
                        "holdfast-shutdown"));
    }

    /** Waits until the server has ended. */
    void join() {
        web.join();
    }

    /**
     * Ends in order: running calls may finish, connections are handed over, sessions and their processes end, then the server,
     * then the store.
     *
     * @param timeout how long running calls may take
     */
    void stop(Duration timeout) {
        log.info("shutting down; calls that run have {}", Durations.text(timeout));
        engine().drain(timeout).toCompletableFuture().join();
        service.release.run();
        web.stop();
        store.close();
    }
}
