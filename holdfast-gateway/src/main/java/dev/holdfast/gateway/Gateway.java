package dev.holdfast.gateway;

import dev.holdfast.ByteBudget;
import dev.holdfast.LogThrottle;
import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.engine.EngineGroup;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.http.ConsoleServlet;
import dev.holdfast.gateway.http.OpenToOthers;
import dev.holdfast.gateway.http.ProtectedResource;
import dev.holdfast.gateway.http.StatusPages;
import dev.holdfast.gateway.http.TlsFiles;
import dev.holdfast.gateway.http.TokenFile;
import dev.holdfast.gateway.http.WebServer;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.McpServlet;
import dev.holdfast.servlet.console.Console;
import dev.holdfast.servlet.console.ConsoleFeed;
import dev.holdfast.upstream.ForwardedHeaders;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A running gateway: sessions of one MCP server, or of many, behind an HTTP server, over a store. */
final class Gateway {
    /** How long the head of a request may take. */
    private static final Duration HEAD_TIME = Duration.ofSeconds(60);

    private static final long LOOK_MILLIS = 500;
    private static final long RETRY_MILLIS = 10_000;
    private static final long KEYS_MILLIS = 300_000;

    private static final Logger log = LoggerFactory.getLogger(Gateway.class);

    private final ServeOptions options;
    private final Optional<TlsFiles> certificate;
    private final WebServer web;
    private final ScheduledThreadPoolExecutor clock;
    private final Services services;
    private final Optional<ServersFile> file;
    private final Optional<OAuthServer> oauth;
    private final String path;
    private final SessionEngine engine;
    private final ScheduledExecutorService reloads =
            Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("holdfast-config"));

    private Gateway(ServeOptions options) {
        this.options = options;
        this.file = options.settings().find(Knobs.CONFIG).map(path -> new ServersFile(path, options.settings()));
        this.oauth = options.settings().find(Knobs.OAUTH_ISSUER).map(issuer -> new OAuthServer(issuer, this::root));
        Map<String, ServeOptions> servers = file.map(ServersFile::read).orElse(Map.of());
        // takes some 80 ms, in which the port and the store are opened
        CompletableFuture<Meters> measured = CompletableFuture.supplyAsync(Meters::new);
        String host = options.get(Knobs.HOST);
        InetAddress address = resolve(host);
        Function<ServeOptions, Authenticator> authenticator = authenticator(address);
        this.certificate = options.settings()
                .find(Knobs.TLS_CERT)
                .map(path -> TlsFiles.open(
                        new OptionFile(Knobs.TLS_CERT.name(), path),
                        new OptionFile(Knobs.TLS_KEY.name(), options.settings().get(Knobs.TLS_KEY)),
                        InstantSource.system(),
                        System::nanoTime));
        this.web = WebServer.listen(
                host, address, options.get(Knobs.PORT), HEAD_TIME, options.get(Knobs.KEEP_ALIVE), certificate);
        this.clock = new ScheduledThreadPoolExecutor(1, DaemonThreads.named("holdfast-clock"));
        clock.setRemoveOnCancelPolicy(true);
        ConsoleFeed feed = new ConsoleFeed(InstantSource.system());
        boolean console =
                options.settings().find(Knobs.CONSOLE).map("on"::equals).orElse(address.isLoopbackAddress());
        Service.Node node = new Service.Node(
                names(host, address),
                address.isLoopbackAddress(),
                authenticator,
                new Quota(web.mostConnections(), options.limits().principalShare(), Refusal.PRINCIPAL_SHARE),
                ByteBudget.ofHeap(),
                file.map(many -> new EngineGroup(
                        options.maxChildren(),
                        options.limits().principalShare(),
                        System::nanoTime,
                        clock,
                        DaemonThreads.starting("holdfast-return"))),
                console ? feed::of : name -> SessionLifecycleListener.NONE,
                measured,
                clock);
        if (ProcessHandle.current().pid() == 1
                && (file.isPresent() || options.server() instanceof ServerChoice.Command)) {
            log.warn(
                    "this is process 1 of its container: what server processes leave behind stays as zombies, unless an init"
                            + " process collects it (docker run --init)");
        }
        StatusPages.Guard guard;
        if (file.isEmpty()) {
            this.services = new Services(node, web, server -> StatusPages.Guard.NONE);
            Service only = only();
            this.path = options.path();
            this.engine = only.engine();
            guard = only.guard();
        } else {
            OpenToOthers.complain(options.settings().get(Knobs.CONFIG));
            // belongs to no server, since they come and go
            this.engine = SessionEngine.builder(
                            (request, sink) -> CompletableFuture.failedFuture(new IllegalStateException("no server")),
                            JsonRpc.MESSAGES)
                    .scheduler(clock)
                    .budget(node.budget())
                    .build();
            Function<ServeOptions, StatusPages.Guard> guards =
                    server -> new McpServlet(engine, node.edge(server, ForwardedHeaders.NONE))::visitor;
            guard = guards.apply(options);
            this.path = "/";
            this.services = new Services(node, web, guards);
            services.serve(servers).join();
            every(LOOK_MILLIS, () -> take(file.get().changed()));
            every(RETRY_MILLIS, services::retry);
        }
        oauth.ifPresent(server -> {
            web.page(
                    ProtectedResource.WELL_KNOWN + "/*",
                    new ProtectedResource.Metadata(at -> (at.isEmpty() ? Optional.of(options) : services.at(at))
                            .map(found -> server.resource(found, at.isEmpty() ? found.path() : at))));
            server.keys().begin();
            every(KEYS_MILLIS, server.keys()::refresh);
        });
        if (console) {
            web.serve(ConsoleServlet.PAGE, console(feed, guard), ConsoleServlet.PATHS);
        }
        web.start(new StatusPages(
                services::served, services::failed, guard, () -> measured.join().scrape()));
        certificate.ifPresent(files -> every(LOOK_MILLIS, files::look));
    }

    /** Where there are no tokens there is nobody in particular, who sees all. */
    private ConsoleServlet console(ConsoleFeed feed, StatusPages.Guard guard) {
        Set<String> operators = Set.copyOf(options.get(Knobs.CONSOLE_OPERATOR));
        boolean tokens = options.settings().isGiven(Knobs.AUTH_TOKEN_FILE)
                || options.settings().isGiven(Knobs.OAUTH_ISSUER);
        return new ConsoleServlet(
                new Console(services::shown, this::failed, feed, InstantSource.system(), System::nanoTime),
                guard,
                principal -> new Console.Viewer(principal, !tokens || operators.contains(principal)));
    }

    /** What could not be started, changed or read: in full to who sees all. */
    private Map<String, String> failed(Console.Viewer viewer) {
        if (!viewer.all()) {
            return services.failed();
        }
        Map<String, String> failed = services.failures();
        file.map(ServersFile::trouble).filter(why -> !why.isEmpty()).ifPresent(why -> failed.put("", why));
        return failed;
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

    private static InetAddress resolve(String host) {
        try {
            return InetAddress.getByName(host);
        } catch (UnknownHostException e) {
            throw new GatewayException("cannot listen on " + host + ": no such host", e);
        }
    }

    private Function<ServeOptions, Authenticator> authenticator(InetAddress address) {
        Optional<Path> tokens = options.settings().find(Knobs.AUTH_TOKEN_FILE);
        String host = options.get(Knobs.HOST);
        if (tokens.isPresent()) {
            Authenticator file =
                    TokenFile.open(new OptionFile(Knobs.AUTH_TOKEN_FILE.name(), tokens.get()), System::nanoTime);
            return server -> file;
        }
        if (oauth.isPresent()) {
            if (!address.isLoopbackAddress() && !oauth.get().isNamed(options)) {
                throw new GatewayException("others can reach " + host + ": say by --base-url by which URL, as in"
                        + " https://mcp.example, since tokens of --oauth-issuer are made for that");
            }
            return oauth.get()::authenticator;
        }
        if (!address.isLoopbackAddress()) {
            if (!options.get(Knobs.INSECURE)) {
                throw new GatewayException("others can reach " + host
                        + ": give them tokens by --auth-token-file or --oauth-issuer, or serve whoever comes by"
                        + " --insecure");
            }
            log.warn("whoever can reach {} is served, for there is neither --auth-token-file nor --oauth-issuer", host);
        }
        return server -> Authenticator.SERVLET;
    }

    private Service only() {
        try {
            return services.only(options);
        } catch (GatewayException e) {
            web.release();
            throw e;
        }
    }

    private void every(long millis, Runnable task) {
        LogThrottle complaints = new LogThrottle(1, System::nanoTime);
        Runnable again = () -> {
            try {
                task.run();
            } catch (RuntimeException e) {
                // else it would never run again
                complaints.write(more -> log.error("nobody expected this; it is tried again{}", more, e));
            }
        };
        Future<?> unused = reloads.scheduleWithFixedDelay(again, millis, millis, TimeUnit.MILLISECONDS);
    }

    /** Serves what the file says. */
    private void take(Optional<Map<String, ServeOptions>> servers) {
        servers.ifPresent(now -> {
            Future<?> unused = services.serve(now);
        });
    }

    /** Where the MCP endpoint is; the root of all where there are many. */
    URI url() {
        return URI.create(root() + path);
    }

    private String root() {
        String name = options.get(Knobs.HOST);
        String host = name.indexOf(':') >= 0 && !name.startsWith("[") ? "[" + name + "]" : name;
        return (certificate.isPresent() ? "https://" : "http://") + host + ":" + web.port();
    }

    /** That of the only server. */
    SessionEngine engine() {
        return engine;
    }

    /**
     * Stops on SIGTERM and SIGINT, and exits with 0: the virtual machine itself would report the signal as a failure. On SIGHUP too, or
     * reads the file again where there is one.
     */
    void heedSignals() {
        file.ifPresent(servers -> onHangup(() -> {
            if (!reloads.isShutdown()) {
                reloads.execute(() -> take(servers.again()));
            }
        }));
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

    /** By reflection, for javac warns of the only class that knows signals in a way that cannot be suppressed. */
    private static void onHangup(Runnable task) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object runs = Proxy.newProxyInstance(
                    handler.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        task.run();
                        return proxy;
                    });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance("HUP"), runs);
        } catch (ReflectiveOperationException e) {
            log.info("SIGHUP does not make the gateway read its file again here", e);
        }
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
        reloads.shutdownNow();
        services.end(timeout, () -> {
            clock.shutdownNow();
            web.stop();
        });
    }
}
