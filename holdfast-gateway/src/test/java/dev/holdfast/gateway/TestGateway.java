package dev.holdfast.gateway;

import dev.holdfast.Lifetime;
import dev.holdfast.gateway.http.ConnectionTimes;
import dev.holdfast.gateway.stdio.ShellServer;
import dev.holdfast.servlet.HttpSseOptions;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** A gateway in this process, on a free port. */
public final class TestGateway implements AutoCloseable {
    public static final ConnectionTimes TIMES = new ConnectionTimes(Wait.PATIENCE, Wait.PATIENCE);
    static final ServeOptions OPTIONS = new ServeOptions(
            "127.0.0.1",
            0,
            Duration.ofSeconds(75),
            "/mcp",
            Lifetime.DEFAULT,
            Duration.ofSeconds(15),
            Duration.ofSeconds(2),
            Duration.ZERO,
            Optional.of(HttpSseOptions.DEFAULT),
            Duration.ofSeconds(10),
            Duration.ofSeconds(5),
            Trust.LOCAL,
            Limits.DEFAULT,
            new StoreChoice.Memory(),
            Duration.ofMinutes(10),
            new ServerChoice.Command(ShellServer.COMMAND));

    final Gateway gateway;

    public TestGateway() {
        this(Lifetime.DEFAULT);
    }

    public TestGateway(Lifetime lifetime) {
        this(OPTIONS.host(), lifetime, Trust.LOCAL, Limits.DEFAULT);
    }

    public TestGateway(String host, Trust trust) {
        this(host, Lifetime.DEFAULT, trust, Limits.DEFAULT);
    }

    public TestGateway(Limits limits) {
        this(OPTIONS.host(), Lifetime.DEFAULT, Trust.LOCAL, limits);
    }

    /** One that serves the demo. */
    static TestGateway demo(StoreChoice store) {
        return new TestGateway(OPTIONS.port(), new ServerChoice.Demo(), store);
    }

    TestGateway(int port, ServerChoice server, StoreChoice store) {
        gateway = Gateway.start(new ServeOptions(
                OPTIONS.host(),
                port,
                OPTIONS.keepAlive(),
                OPTIONS.path(),
                OPTIONS.lifetime(),
                OPTIONS.heartbeat(),
                OPTIONS.retry(),
                OPTIONS.maxConnectionAge(),
                OPTIONS.httpSse(),
                OPTIONS.startTimeout(),
                OPTIONS.drainTimeout(),
                OPTIONS.trust(),
                OPTIONS.limits(),
                store,
                OPTIONS.parkAfter(),
                server));
    }

    public TestGateway(StoreChoice store) {
        this(OPTIONS.host(), Lifetime.DEFAULT, Trust.LOCAL, Limits.DEFAULT, store, OPTIONS.heartbeat());
    }

    TestGateway(Trust trust, Limits limits, StoreChoice store) {
        this(OPTIONS.host(), Lifetime.DEFAULT, trust, limits, store, OPTIONS.heartbeat());
    }

    /** One that notices a vanished peer after this time. */
    public TestGateway(Duration heartbeat) {
        this(OPTIONS.host(), Lifetime.DEFAULT, Trust.LOCAL, Limits.DEFAULT, OPTIONS.store(), heartbeat);
    }

    /** One of some server, on this port. */
    TestGateway(int port, ServerChoice server) {
        this(port, server, OPTIONS.store());
    }

    /** The words of a command line whose server is a command. */
    static List<String> words(List<String> serve, List<String> command) {
        return Stream.concat(serve.stream(), command.stream()).toList();
    }

    private TestGateway(String host, Lifetime lifetime, Trust trust, Limits limits) {
        this(host, lifetime, trust, limits, OPTIONS.store(), OPTIONS.heartbeat());
    }

    private TestGateway(
            String host, Lifetime lifetime, Trust trust, Limits limits, StoreChoice store, Duration heartbeat) {
        gateway = Gateway.start(new ServeOptions(
                host,
                OPTIONS.port(),
                OPTIONS.keepAlive(),
                OPTIONS.path(),
                lifetime,
                heartbeat,
                OPTIONS.retry(),
                OPTIONS.maxConnectionAge(),
                OPTIONS.httpSse(),
                OPTIONS.startTimeout(),
                OPTIONS.drainTimeout(),
                trust,
                limits,
                store,
                OPTIONS.parkAfter(),
                OPTIONS.server()));
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
