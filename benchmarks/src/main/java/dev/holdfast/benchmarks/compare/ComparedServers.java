package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.HttpLoad;
import dev.holdfast.benchmarks.load.SdkLoad;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** How each peer is started: with the settings that its own documentation gives, and a heap of one size for every Java server. */
final class ComparedServers {
    private static final List<String> HEAP = List.of("-Xms1g", "-Xmx1g");
    private static final String OBSERVATIONS =
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration";

    /** Leaves a Spring Boot application without meters and observations. */
    private static final String NO_METERS = "--spring.autoconfigure.exclude="
            + "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration,"
            + "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration,"
            + "org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration,"
            + OBSERVATIONS;

    /** Spring's own observation of requests costs what it costs without Holdfast too. */
    private static final String NO_HTTP_OBSERVATION = "--management.observations.enable.http=false";

    private static final String SERVER = "dev.holdfast.benchmarks.server.ServerMain";

    private final String java = ProcessHandle.current().info().command().orElse("java");
    private final String classes;
    private final Path root;
    private final Path scratch;

    /**
     * Servers of a source tree.
     *
     * @param root the tree, built
     * @param classes the class path of its benchmarks
     * @param scratch a folder for what servers write
     */
    ComparedServers(Path root, String classes, Path scratch) {
        this.root = root;
        this.classes = classes;
        this.scratch = scratch;
    }

    /** A server of this kind, see {@code Contender}; {@code variant} says how its handlers run. */
    Peer server(String kind, String variant, String container) {
        return Peer.onJvm(
                kind,
                port -> java(
                        "-Dstore=" + scratch.resolve(kind + port),
                        "-cp",
                        classes,
                        SERVER,
                        kind,
                        variant,
                        Integer.toString(port),
                        container));
    }

    /** The same, called by requests that name no session. */
    Peer stateless(String kind, String variant, String container) {
        return server(kind, variant, container)
                .with((target, workload, meter) -> new HttpLoad(target, workload.stateless(), meter));
    }

    /** A node whose sessions are in the Redis of this address. */
    Peer node(String redis) {
        return Peer.onJvm(
                "redis",
                port -> java("-Dredis=" + redis, "-cp", classes, SERVER, "redis", "immediate", Integer.toString(port)));
    }

    /** A server of this kind with its sessions in this folder. */
    Peer on(Path folder, String kind) {
        return Peer.onJvm(
                kind,
                port -> java("-Dstore=" + folder, "-cp", classes, SERVER, kind, "immediate", Integer.toString(port)));
    }

    /** The SDK without a transport. */
    Peer sdk(String variant) {
        return server("sdk", variant, "jetty").with(SdkLoad::new);
    }

    /** Spring AI's transport in Spring Boot. */
    Peer springAi() {
        return spring("spring-ai", "--holdfast.enabled=false", NO_METERS);
    }

    /** The same application with the starter switched on. */
    Peer springHoldfast() {
        return spring("holdfast", NO_METERS);
    }

    /** The same with meters in Spring Boot's registry, and no observations. */
    Peer springMetered() {
        return spring("metered", "--spring.autoconfigure.exclude=" + OBSERVATIONS);
    }

    /** The same with an observation of each call, of which Spring Boot makes meters. */
    Peer springObserved() {
        return spring("observed", NO_HTTP_OBSERVATION);
    }

    private Peer spring(String name, String... properties) {
        Path jar = peer("spring/target/spring-peer.jar");
        return Peer.onJvm(name, port -> {
            List<String> command = java(
                    "-jar",
                    jar.toString(),
                    "--server.port=" + port,
                    // else Tomcat closes each connection after a hundred requests
                    "--server.tomcat.max-keep-alive-requests=-1");
            command.addAll(List.of(properties));
            return command;
        });
    }

    Peer quarkus() {
        Path jar = peer("quarkus/target/quarkus-app/quarkus-run.jar");
        return Peer.onJvm("quarkus", port -> java("-Dquarkus.http.port=" + port, "-jar", jar.toString()));
    }

    Peer typescript() {
        String script = peer("node/typescript.mjs").toString();
        return Peer.onNode("typescript", port -> List.of("node", script, Integer.toString(port)));
    }

    /** Our gateway, as its launcher starts it. */
    Peer gateway() {
        return Peer.onJvm(
                "holdfast",
                port -> List.of(
                        root.resolve("holdfast").toString(),
                        "serve",
                        "--port",
                        Integer.toString(port),
                        "--store",
                        "rocksdb:" + scratch.resolve("gateway" + port),
                        "--",
                        "node",
                        child()));
    }

    /** Our gateway in front of a server, and that same server, which has to be started first. */
    List<Peer> upstream(Peer server) {
        AtomicInteger behind = new AtomicInteger();
        Peer direct = server.startedBy(port -> {
            behind.set(port);
            return server.start().command(port);
        });
        Peer gateway = Peer.onJvm(
                "holdfast",
                port -> List.of(
                        root.resolve("holdfast").toString(),
                        "serve",
                        "--port",
                        Integer.toString(port),
                        "--store",
                        "rocksdb:" + scratch.resolve("upstream" + port),
                        "--upstream",
                        "http://127.0.0.1:" + behind.get() + "/mcp"));
        return List.of(gateway, direct);
    }

    Peer supergateway() {
        String script = module("supergateway/dist/index.js");
        return Peer.onNode(
                "supergateway",
                port -> List.of(
                        "node",
                        script,
                        "--stdio",
                        "node " + child(),
                        "--outputTransport",
                        "streamableHttp",
                        "--stateful",
                        "--logLevel",
                        "none",
                        "--port",
                        Integer.toString(port)));
    }

    Peer mcpProxy() {
        String script = module("mcp-proxy/dist/bin/mcp-proxy.mjs");
        return Peer.onNode(
                "mcp-proxy",
                port -> List.of(
                        "node",
                        script,
                        "--host",
                        "127.0.0.1",
                        "--port",
                        Integer.toString(port),
                        "--server",
                        "stream",
                        "--",
                        "node",
                        child()));
    }

    private String child() {
        return peer("node/child.mjs").toString();
    }

    private String module(String path) {
        return peer("node/node_modules/" + path).toString();
    }

    private Path peer(String path) {
        return root.resolve("benchmarks/peers").resolve(path);
    }

    private List<String> java(String... arguments) {
        List<String> command = new ArrayList<>(List.of(java));
        command.addAll(HEAP);
        command.addAll(List.of(arguments));
        return command;
    }
}
