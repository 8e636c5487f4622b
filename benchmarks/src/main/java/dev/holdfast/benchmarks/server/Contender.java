package dev.holdfast.benchmarks.server;

import dev.holdfast.Lifetime;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import dev.holdfast.servlet.Isolation;
import dev.holdfast.spi.SessionStore.Durability;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import jakarta.servlet.http.HttpServlet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * One of the servers that are compared.
 *
 * @param servlet what answers on {@code /mcp}
 * @param provider the transport under the SDK's server, where there is one
 * @param sessions the bare sessions of the SDK, where they are what is measured
 * @param template what its first session is written from again, where a folder is to be filled
 * @param disk where its sessions are, where it is measured what that one keeps of them in memory
 */
record Contender(
        HttpServlet servlet,
        Optional<McpStreamableServerTransportProvider> provider,
        Optional<SdkSessions> sessions,
        Optional<Template> template,
        Optional<RocksDbStore> disk) {

    private static final int MANY = 200_000;
    private static final Duration BRIEF = Duration.ofSeconds(5);

    static Contender of(String kind, Variant variant) {
        return switch (kind) {
            case "holdfast" -> holdfast(EdgeOptions.DEFAULT, variant);
            case "principal" ->
                holdfast(EdgeOptions.builder().isolation(Isolation.PRINCIPAL).build(), variant);
            case "resetting" ->
                holdfast(EdgeOptions.builder().connectionReset(new JettyReset()).build(), variant);
            case "sse" ->
                holdfast(
                        EdgeOptions.builder()
                                .httpSse(Optional.of(HttpSseOptions.DEFAULT))
                                .build(),
                        variant);
            case "sse-grace" ->
                holdfast(
                        EdgeOptions.builder()
                                .httpSse(Optional.of(HttpSseOptions.DEFAULT.withReconnectGrace(Duration.ofMinutes(1))))
                                .build(),
                        variant);
            case "soak" -> {
                // sessions that nobody deletes are gone a few seconds after the heartbeat that misses them
                Lifetime brief = Lifetime.DEFAULT.withGrace(BRIEF).withIdle(BRIEF);
                HttpSseOptions sse = HttpSseOptions.DEFAULT.withReconnectGrace(BRIEF);
                yield holdfast(
                        EdgeOptions.builder()
                                .heartbeatInterval(BRIEF)
                                .lifetime(brief)
                                .httpSse(Optional.of(sse))
                                .build(),
                        variant);
            }
            case "rocksdb" -> holdfast(builder().store(onDisk(Durability.PROCESS_DEATH)), variant);
            case "rocksdb-sync" -> holdfast(builder().store(onDisk(Durability.POWER_LOSS)), variant);
            case "redis" -> holdfast(builder().store(RedisStore.builder(redis()).open()), variant);
            case "parking" -> {
                RocksDbStore disk = onDisk(Durability.PROCESS_DEATH);
                Contender parking = holdfast(
                        builder()
                                .store(disk)
                                .heartbeatInterval(Duration.ofSeconds(1))
                                .parkAfter(Duration.ofSeconds(10)),
                        variant);
                yield new Contender(
                        parking.servlet(), parking.provider(), Optional.empty(), Optional.empty(), Optional.of(disk));
            }
            case "filling" -> {
                Template template = new Template(folder());
                Contender filling = holdfast(builder().store(template), variant);
                yield new Contender(
                        filling.servlet(),
                        filling.provider(),
                        Optional.empty(),
                        Optional.of(template),
                        Optional.empty());
            }
            case "official" -> {
                HttpServletStreamableServerTransportProvider transport =
                        HttpServletStreamableServerTransportProvider.builder().build();
                variant.serve(transport);
                yield new Contender(
                        transport, Optional.of(transport), Optional.empty(), Optional.empty(), Optional.empty());
            }
            case "sdk" -> {
                SdkSessions sessions = new SdkSessions();
                variant.serve(sessions);
                yield new Contender(
                        new FloorServlet(),
                        Optional.of(sessions),
                        Optional.of(sessions),
                        Optional.empty(),
                        Optional.empty());
            }
            case "floor" ->
                new Contender(
                        new FloorServlet(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
            default -> throw new IllegalArgumentException("no such server: " + kind);
        };
    }

    private static Path folder() {
        return Path.of(System.getProperty("store"));
    }

    /** The one that the system property {@code redis} names, which other nodes may share; else one of its own. */
    private static String redis() {
        String shared = System.getProperty("redis");
        try {
            return shared == null ? OwnRedis.start(folder()).url() : shared;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** In the folder that the system property {@code store} names; it ends with the process. */
    private static RocksDbStore onDisk(Durability survives) {
        return RocksDbStore.builder(folder()).survives(survives).open();
    }

    /** As users have it, but for a limit that measurements go beyond. */
    private static HoldfastTransportProviderBuilder builder() {
        return HoldfastTransportProvider.builder().maxSessions(MANY);
    }

    private static Contender holdfast(EdgeOptions options, Variant variant) {
        return holdfast(builder().edgeOptions(options), variant);
    }

    private static Contender holdfast(HoldfastTransportProviderBuilder builder, Variant variant) {
        HoldfastTransportProvider transport = builder.build();
        variant.serve(transport);
        return new Contender(transport, Optional.of(transport), Optional.empty(), Optional.empty(), Optional.empty());
    }

    /** What the engine under the transport, and its store, have counted; nothing where there is none. */
    String engine() {
        String kept = disk.map(store -> " inUse=" + store.usage().inUse()).orElse("");
        return provider.filter(HoldfastTransportProvider.class::isInstance)
                .map(HoldfastTransportProvider.class::cast)
                .map(transport -> transport.engine().stats() + kept)
                .orElse("");
    }

    /** Sends one message to every client, and waits until it is sent. */
    void broadcast(Map<String, String> data) {
        if (provider.isPresent()) {
            Map<String, Object> message = Map.of("level", "info", "data", data);
            provider.get().notifyClients("notifications/message", message).block();
        } else if (servlet instanceof FloorServlet floor) {
            floor.broadcast(data);
        }
    }
}
