package dev.holdfast.gateway;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.http.ConnectionTimes;
import dev.holdfast.gateway.http.OpenToOthers;
import dev.holdfast.gateway.http.TokenFile;
import dev.holdfast.gateway.http.WebServer;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.servlet.EdgeOptions;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A running gateway: an MCP service behind an HTTP server. */
final class Gateway {
    /** How long the head of a request may take. */
    private static final Duration HEAD_TIME = Duration.ofSeconds(60);

    private static final Logger log = LoggerFactory.getLogger(Gateway.class);

    private final ServeOptions options;
    private final WebServer web;
    private final OpenStore store;
    private final McpService service;

    private Gateway(ServeOptions options, WebServer web, OpenStore store, McpService service) {
        this.options = options;
        this.web = web;
        this.store = store;
        this.service = service;
    }

    /**
     * Starts to serve.
     *
     * @throws GatewayException if that cannot be here
     */
    static Gateway start(ServeOptions options) {
        if (options.server() instanceof ServerChoice.Command server) {
            requireExecutable(server.command());
        }
        // takes some 80 ms, in which the port and the store are opened
        CompletableFuture<Meters> meters = CompletableFuture.supplyAsync(Meters::new);
        InetAddress address = resolve(options.host());
        Authenticator authenticator = authenticator(options, address);
        WebServer web = WebServer.listen(
                options.host(), address, options.port(), new ConnectionTimes(HEAD_TIME, options.keepAlive()));
        Quota connections =
                new Quota(web.mostConnections(), options.limits().node().principalShare(), Refusal.PRINCIPAL_SHARE);
        EdgeOptions edge = options.edge(names(options.host(), address)).toBuilder()
                .authenticator(authenticator)
                .connections(Optional.of(connections))
                .build();
        OpenStore store = openStore(options, web);
        McpService service = McpService.of(options, child(options, address), edge, store.sessions(), meters.join());
        web.start(service.endpoint(), store.health(), options.paths());
        return new Gateway(options, web, store, service);
    }

    /**
     * The names that clients may use beside the address that they have reached: what the gateway listens on; but 0.0.0.0 is none,
     * though browsers take it for this machine, and an address with colons is no name.
     */
    static List<String> names(String host, InetAddress address) {
        return address.isAnyLocalAddress() || host.indexOf(':') >= 0 ? List.of() : List.of(host);
    }

    private static OpenStore openStore(ServeOptions options, WebServer web) {
        try {
            OpenStore store = OpenStore.open(options.store(), options.server());
            if (options.store() instanceof StoreChoice.RocksDb disk) {
                OpenToOthers.complain(disk.folder());
            }
            return store;
        } catch (GatewayException e) {
            web.release();
            throw e;
        }
    }

    private static void requireExecutable(ServerCommand command) {
        if (command.executable().isEmpty()) {
            throw new GatewayException("the command " + command.fault() + ": " + command.program());
        }
    }

    private static Authenticator authenticator(ServeOptions options, InetAddress address) {
        Optional<Path> tokens = options.trust().tokenFile();
        if (tokens.isPresent()) {
            return TokenFile.open(new OptionFile("--auth-token-file", tokens.get()), System::nanoTime);
        }
        if (!address.isLoopbackAddress()) {
            if (!options.trust().insecure()) {
                throw new GatewayException("others can reach " + options.host()
                        + ": give them tokens by --auth-token-file, or serve whoever comes by --insecure");
            }
            log.warn("whoever can reach {} is served, for there is no --auth-token-file", options.host());
        }
        return Authenticator.SERVLET;
    }

    /** What a child says on its error output may name files and secrets of this machine. */
    private static StdioOptions child(ServeOptions options, InetAddress address) {
        StdioOptions child = StdioOptions.DEFAULT.withStartTimeout(options.startTimeout());
        boolean shown = address.isLoopbackAddress() || options.trust().showChildErrors();
        return shown ? child : child.withoutErrors();
    }

    private static InetAddress resolve(String host) {
        try {
            return InetAddress.getByName(host);
        } catch (UnknownHostException e) {
            throw new GatewayException("cannot listen on " + host + ": no such host", e);
        }
    }

    /** Where the MCP endpoint is. */
    URI url() {
        String name = options.host();
        String host = name.indexOf(':') >= 0 && !name.startsWith("[") ? "[" + name + "]" : name;
        return URI.create("http://" + host + ":" + web.port() + options.path());
    }

    SessionEngine engine() {
        return service.endpoint().engine();
    }

    /** Waits until the server has ended. */
    void join() {
        web.join();
    }

    /**
     * Ends in order: running calls may finish, connections are handed over, sessions and their processes end, then the server,
     * then the store.
     *
     * @param patience how long running calls may take
     */
    void stop(Duration patience) {
        log.info("shutting down; calls that run have {}", Durations.text(patience));
        service.endpoint().engine().drain(patience).toCompletableFuture().join();
        service.release().run();
        web.stop();
        store.close();
    }
}
