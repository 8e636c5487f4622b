package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.ListeningClients;
import dev.holdfast.benchmarks.load.Target;
import dev.holdfast.benchmarks.result.Weight;
import dev.holdfast.benchmarks.server.OwnRedis;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * What sessions weigh that do nothing, seen from outside: the heap of a JVM behind collections; for gateways, all memory of the process
 * and of the children that it has started; what Redis says of itself; the size of a folder.
 */
final class Weighing {
    /** So that neither classes nor pools are counted as the weight of sessions. */
    private static final int WARM_UP = 300;

    private static final int JVM_SESSIONS = 3_000;
    /** Some gateways have a child process for each session. */
    private static final int GATEWAY_SESSIONS = 20;

    private static final long REST_MILLIS = 4_000;
    /** Small enough that no level of RocksDB is merged while it is looked at. */
    private static final int FILLED = 20_000;

    private final ComparedServers peers;
    private final Path scratch;
    private final List<Weight> found = new ArrayList<>();

    /**
     * Weighs sessions of these servers.
     *
     * @param scratch a folder for what servers write
     */
    Weighing(ComparedServers peers, Path scratch) {
        this.peers = peers;
        this.scratch = scratch;
    }

    /** What is weighed of a server. */
    @FunctionalInterface
    private interface Scale {
        long bytes(ServerProcess server) throws IOException, InterruptedException;
    }

    List<Weight> run() throws IOException, InterruptedException {
        for (String kind : List.of("holdfast", "official", "floor", "rocksdb")) {
            heap(peers.server(kind, "immediate", "jetty"));
        }
        heap(peers.springHoldfast().named("holdfast, Spring Boot"));
        heap(peers.springAi());
        heap(peers.quarkus());
        redis();
        disk();
        for (Peer gateway : List.of(peers.gateway(), peers.supergateway(), peers.mcpProxy())) {
            weigh(gateway, 2, GATEWAY_SESSIONS, "memory of all processes", Weighing::memory);
        }
        return found;
    }

    private void heap(Peer peer) throws IOException, InterruptedException {
        weigh(peer, WARM_UP, JVM_SESSIONS, "heap", Weighing::heap);
    }

    private void weigh(Peer peer, int warmUp, int count, String what, Scale scale)
            throws IOException, InterruptedException {
        try (ServerProcess server = ServerProcess.start(peer, scratch).ready();
                ListeningClients clients = new ListeningClients(server.target(), time -> {})) {
            clients.connect(Crowd.open(server.target(), warmUp));
            TimeUnit.MILLISECONDS.sleep(REST_MILLIS);
            long before = scale.bytes(server);
            List<String> sessions = Crowd.open(server.target(), count);
            add(peer.name(), what + ", session", count, scale.bytes(server) - before);
            clients.connect(sessions);
            TimeUnit.MILLISECONDS.sleep(REST_MILLIS);
            add(peer.name(), what + ", session that listens", count, scale.bytes(server) - before);
        }
    }

    /** A node's heap, and what Redis keeps. */
    private void redis() throws IOException, InterruptedException {
        try (OwnRedis redis = OwnRedis.start(scratch.resolve("weighed-redis"))) {
            Peer node = peers.node(redis.url());
            heap(node);
            try (ServerProcess server = ServerProcess.start(node, scratch).ready()) {
                Target target = server.target();
                Crowd.open(target, WARM_UP);
                TimeUnit.MILLISECONDS.sleep(REST_MILLIS);
                long before = redis.info("used_memory");
                List<String> sessions = Crowd.open(target, JVM_SESSIONS);
                TimeUnit.MILLISECONDS.sleep(REST_MILLIS);
                add("redis", "memory of Redis, session", JVM_SESSIONS, redis.info("used_memory") - before);
                for (String session : sessions) {
                    target.call(session, "echo", "{\"text\":\"hello\"}");
                }
                TimeUnit.MILLISECONDS.sleep(REST_MILLIS);
                add(
                        "redis",
                        "memory of Redis, session that has called once",
                        JVM_SESSIONS,
                        redis.info("used_memory") - before);
                // one of them asks
                found.add(new Weight("redis", "connections of a node", 1, redis.info("connected_clients") - 1));
            }
        }
    }

    private void disk() throws IOException, InterruptedException {
        Path folder = scratch.resolve("weighed-disk");
        try (ServerProcess server =
                ServerProcess.start(peers.on(folder, "filling"), scratch).ready()) {
            server.target().fill(FILLED);
        }
        try (Stream<Path> files = Files.walk(folder)) {
            long size =
                    files.filter(Files::isRegularFile).mapToLong(Weighing::size).sum();
            add("rocksdb", "disk, session with a short history", FILLED, size);
        }
    }

    private static long size(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void add(String server, String what, int count, long bytes) {
        Weight weight = new Weight(server, what, count, (double) bytes / count);
        found.add(weight);
        System.err.printf("%-22s %-50s %,.0f bytes%n", server, what, weight.each());
    }

    private static long heap(ServerProcess server) throws IOException {
        try (Allocations jvm = Allocations.of(server.process().pid())) {
            return jvm.collected();
        }
    }

    /** Of a process and its children; pages that some of them share are counted once. */
    private static long memory(ServerProcess server) throws IOException, InterruptedException {
        if (server.platform() == Peer.Platform.JVM) {
            heap(server);
        }
        TimeUnit.MILLISECONDS.sleep(REST_MILLIS);
        return Stream.concat(Stream.of(server.process()), server.process().descendants())
                .mapToLong(process -> shareOfMemory(process.pid()))
                .sum();
    }

    private static long shareOfMemory(long pid) {
        try (Stream<String> lines = Files.lines(Path.of("/proc", Long.toString(pid), "smaps_rollup"))) {
            return lines.filter(line -> line.startsWith("Pss:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
