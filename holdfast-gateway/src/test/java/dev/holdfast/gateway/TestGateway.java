package dev.holdfast.gateway;

import dev.holdfast.NodeLimits;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.gateway.http.StatusPages;
import dev.holdfast.gateway.http.StoreHealth;
import dev.holdfast.gateway.http.WebServer;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.stdio.ShellServer;
import jakarta.servlet.http.HttpServlet;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** A gateway in this process, on a free port. */
public final class TestGateway implements AutoCloseable {
    private static final Supplier<StoreHealth> HEALTH =
            new StoreChoice.Memory().open(new ServerChoice.Demo().identity()).health();
    private static final List<List<String>> PRESETS =
            List.of(List.of("--port", "0"), List.of("--store", "memory"), List.of("--drain-timeout", "5s"));

    final Gateway gateway;

    private TestGateway(ServeOptions options) {
        gateway = Gateway.start(options);
    }

    /** One of a shell server, with these words of the command line. */
    public TestGateway(String... words) {
        this(options(Optional.of(ShellServer.COMMAND.words()), words));
    }

    /** The same over some store. */
    TestGateway(StoreChoice store, String... words) {
        this(over(store, options(Optional.of(ShellServer.COMMAND.words()), words)));
    }

    /** The same with other limits. */
    TestGateway(StoreChoice store, NodeLimits limits, String... words) {
        this(limited(limits, over(store, options(Optional.of(ShellServer.COMMAND.words()), words))));
    }

    /** One of a command. */
    static TestGateway of(ServerCommand command, String... words) {
        return new TestGateway(options(Optional.of(command.words()), words));
    }

    static TestGateway of(ServerCommand command, StoreChoice store) {
        return new TestGateway(over(store, options(Optional.of(command.words()))));
    }

    /** One in front of another server. */
    static TestGateway before(URI upstream, String... forwarded) {
        List<String> words = new ArrayList<>(List.of("--upstream", upstream.toString()));
        Arrays.stream(forwarded).forEach(header -> words.addAll(List.of("--forward-header", header)));
        return new TestGateway(options(Optional.empty(), words.toArray(String[]::new)));
    }

    /** One that serves the demo. */
    static TestGateway demo(StoreChoice store) {
        return new TestGateway(over(store, options(Optional.empty())));
    }

    /** The same with these words of the command line. */
    static TestGateway demo(String... words) {
        return new TestGateway(options(Optional.empty(), words));
    }

    /** What words of the command line ask for, beside those that all tests have in common. */
    static ServeOptions options(Optional<List<String>> command, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        if (command.isPresent() || all.contains("--upstream")) {
            all.addAll(List.of("--start-timeout", "10s"));
        }
        PRESETS.stream().filter(preset -> !all.contains(preset.get(0))).toList().forEach(all::addAll);
        return ServeOptions.of(KnobValues.of(Knobs.SERVE, all), command);
    }

    private static ServeOptions over(StoreChoice store, ServeOptions options) {
        return new ServeOptions("", options.settings(), options.limits(), options.httpSse(), store, options.server());
    }

    private static ServeOptions limited(NodeLimits limits, ServeOptions options) {
        return new ServeOptions("", options.settings(), limits, options.httpSse(), options.store(), options.server());
    }

    /** The words of a command line whose server is a command. */
    static List<String> words(List<String> serve, List<String> command) {
        return Stream.concat(serve.stream(), command.stream()).toList();
    }

    /** Lets a server of a test serve an endpoint, and pages about an engine. */
    public static void serve(WebServer web, HttpServlet endpoint, SessionEngine engine, Supplier<String> metrics) {
        web.serve("", endpoint, List.of("/mcp"));
        web.start(new StatusPages(
                () -> List.of(new StatusPages.Server("", engine, HEALTH)), Map::of, StatusPages.Guard.NONE, metrics));
    }

    public URI url() {
        return gateway.url();
    }

    /** The process that answers a session. */
    public static ProcessHandle server(HttpPeer peer, int id) {
        String answer = peer.call(id, "who");
        String pid = answer.replaceAll(".*\"server\":\"(\\d+)\".*", "$1");
        return ProcessHandle.of(Long.parseLong(pid)).orElseThrow();
    }

    @Override
    public void close() {
        gateway.stop(Duration.ZERO);
    }
}
