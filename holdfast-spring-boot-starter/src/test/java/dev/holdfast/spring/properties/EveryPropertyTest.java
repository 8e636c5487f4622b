package dev.holdfast.spring.properties;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.holdfast.Lifetime;
import dev.holdfast.NoStore;
import dev.holdfast.NodeLimits;
import dev.holdfast.SessionLimits;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.Isolation;
import dev.holdfast.servlet.Protocols;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Every property of the metadata is bound, reaches the transport, and has the default that the metadata name. */
class EveryPropertyTest {
    /** What is seen elsewhere: whether Holdfast is there at all, and the store. */
    private static final Set<String> ELSEWHERE = Set.of(
            "holdfast.enabled",
            "holdfast.store.type",
            "holdfast.store.rocksdb.folder",
            "holdfast.store.rocksdb.sync",
            "holdfast.store.rocksdb.memory",
            "holdfast.store.rocksdb.sweep-interval",
            "holdfast.store.redis.url",
            "holdfast.store.redis.prefix",
            "holdfast.store.redis.timeout",
            "holdfast.store.redis.take-over",
            "holdfast.store.rocksdb.take-over");

    private static final Map<String, Case> CASES = new TreeMap<>();

    private record Case(String text, Object value, Function<TransportSettings, Object> effect) {}

    private static void is(String name, String text, Object value, Function<TransportSettings, Object> effect) {
        CASES.put("holdfast." + name, new Case(text, value, effect));
    }

    private static void edge(String name, String text, Object value, Function<EdgeOptions, Object> effect) {
        is(name, text, value, settings -> effect.apply(settings.edge()));
    }

    private static void life(String name, String text, Duration value, Function<Lifetime, Object> effect) {
        edge("session." + name, text, value, edge -> effect.apply(edge.lifetime()));
    }

    static {
        is("mcp-endpoint", "/x", "/x", settings -> settings.mcpEndpoint().value());
        is(
                "keep-alive-interval",
                "7m",
                Optional.of(Duration.ofMinutes(7)),
                settings -> settings.keepAliveInterval().map(Setting::value));
        edge("protocols", "modern", Protocols.MODERN, EdgeOptions::protocols);
        edge("isolation", "principal", Isolation.PRINCIPAL, EdgeOptions::isolation);
        edge("tasks.after", "7s", Duration.ofSeconds(7), EdgeOptions::taskAfter);
        edge("tasks.retention", "7m", Duration.ofMinutes(7), EdgeOptions::taskRetention);
        edge("disallow-delete", "true", false, EdgeOptions::allowDelete);
        is("immediate-execution", "true", true, TransportSettings::immediateExecution);
        life("reconnect-grace-period", "7m", Duration.ofMinutes(7), Lifetime::grace);
        life("idle-timeout", "7m", Duration.ofMinutes(7), Lifetime::idle);
        life("response-retention", "7s", Duration.ofSeconds(7), Lifetime::retention);
        life("initialization-timeout", "7s", Duration.ofSeconds(7), Lifetime::initialization);
        life("max-call-duration", "7m", Duration.ofMinutes(7), Lifetime::call);
        is(
                "session.park-after",
                "7m",
                Duration.ofMinutes(7),
                settings -> settings.properties().session().parkAfter());
        is("shutdown.drain-timeout", "7s", Duration.ofSeconds(7), TransportSettings::drainTimeout);
        edge("connection.heartbeat-interval", "7s", Duration.ofSeconds(7), EdgeOptions::heartbeatInterval);
        edge("connection.retry-interval", "7s", Duration.ofSeconds(7), EdgeOptions::retryInterval);
        edge("connection.max-age", "7s", Duration.ofSeconds(7), EdgeOptions::maxConnectionAge);
        edge("connection.stall-deadline", "7s", Duration.ofSeconds(7), EdgeOptions::stallDeadline);
        edge("request.max-size", "7MB", 7 << 20, EdgeOptions::maxRequestSize);
        edge("request.max-total-size", "70MB", 70L << 20, EdgeOptions::maxRequestBytes);
        edge("request.deadline", "7s", Duration.ofSeconds(7), EdgeOptions::requestDeadline);
        edge("request.allowed-hosts", "a,b", List.of("a", "b"), EdgeOptions::allowedHosts);
        edge("request.allowed-origins", "http://a", List.of("http://a"), EdgeOptions::allowedOrigins);
        is("history.stream-size", "7MB", 7L << 20, settings -> settings.limits().streamBytes());
        is("history.stream-messages", "77", 77, settings -> settings.limits().streamEvents());
        is(
                "history.session-size",
                "7MB",
                7L << 20,
                settings -> settings.limits().sessionBytes());
        is("history.session-messages", "77", 77, settings -> settings.limits().sessionEvents());
        is("history.finished-streams", "7", 7, settings -> settings.limits().finishedStreams());
        is("history.running-calls", "7", 7, settings -> settings.limits().runningCalls());
        is("node.max-sessions", "7", 7, settings -> settings.nodeLimits().sessions());
        is(
                "node.max-principal-sessions",
                "7",
                7,
                settings -> settings.nodeLimits().principalSessions());
        is("node.principal-share", "7", 7, settings -> settings.nodeLimits().principalShare());
        is("node.max-running-calls", "7", 7, settings -> settings.nodeLimits().runningCalls());
        is(
                "node.history-size",
                "7MB",
                7L << 20,
                settings -> settings.nodeLimits().historyBytes());
        is("node.name", "n", "n", settings -> settings.properties().node().name());
        is(
                "node.lease",
                "7s",
                Duration.ofSeconds(7),
                settings -> settings.properties().node().lease());
        is("node.history-messages", "77", 77L, settings -> settings.nodeLimits().historyEvents());
        edge("sse.enabled", "true", true, edge -> edge.httpSse().isPresent());
        edge("sse.endpoint", "/x", "/x", edge -> edge.httpSse().orElseThrow().path());
        edge(
                "sse.message-endpoint",
                "/x",
                "/x",
                edge -> edge.httpSse().orElseThrow().messagePath());
        edge("sse.base-url", "/x", "/x", edge -> edge.httpSse().orElseThrow().base());
        edge(
                "sse.reconnect-grace-period",
                "7s",
                Duration.ofSeconds(7),
                edge -> edge.httpSse().orElseThrow().reconnectGrace());
    }

    private static Stream<JsonNode> metadata() throws Exception {
        try (InputStream file =
                HoldfastProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            return new JsonMapper()
                    .readTree(Objects.requireNonNull(file))
                    .get("properties")
                    .valueStream()
                    .filter(property -> property.get("name").asString().matches("holdfast\\.(?!client\\.).*"));
        }
    }

    static Stream<String> names() throws Exception {
        return metadata().map(property -> property.get("name").asString()).filter(name -> !ELSEWHERE.contains(name));
    }

    private static TransportSettings settings(Map<String, String> properties) {
        return TransportSettings.of(bound(properties), Optional.empty());
    }

    private static HoldfastProperties bound(Map<String, String> properties) {
        return new Binder(new MapConfigurationPropertySource(properties))
                .bindOrCreate("holdfast", HoldfastProperties.class);
    }

    @ParameterizedTest
    @MethodSource("names")
    void aPropertyReachesItsKnob(String name) {
        Case set = Objects.requireNonNull(CASES.get(name), () -> "no case for " + name);
        Map<String, String> sse = name.contains(".sse.") ? Map.of("holdfast.sse.enabled", "true") : Map.of();
        Map<String, String> properties = new TreeMap<>(sse);
        properties.put(name, set.text());

        assertThat(set.effect().apply(settings(properties))).isEqualTo(set.value());
        if (!name.equals("holdfast.sse.enabled")) {
            assertThat(set.effect().apply(settings(sse))).isNotEqualTo(set.value());
        }
    }

    @Test
    void everyCaseIsAPropertyOfTheMetadata() throws Exception {
        Set<String> named =
                new TreeSet<>(metadata().map(p -> p.get("name").asString()).toList());

        assertThat(named).containsAll(CASES.keySet()).containsAll(ELSEWHERE);
    }

    @Test
    void everyPropertyIsDescribed() throws Exception {
        assertThat(metadata()).allSatisfy(property -> {
            assertThat(property.path("description").asString()).hasSizeGreaterThan(20);
            assertThat(property.path("type").asString()).isNotEmpty();
        });
    }

    @Test
    void theDefaultsAreThoseOfTheTransport() {
        TransportSettings settings = settings(Map.of());

        assertThat(settings.edge()).usingRecursiveComparison().isEqualTo(EdgeOptions.DEFAULT);
        assertThat(settings.limits()).isEqualTo(SessionLimits.DEFAULT);
        assertThat(settings.nodeLimits()).isEqualTo(NodeLimits.DEFAULT);
        assertThat(settings.mcpEndpoint().value()).isEqualTo("/mcp");
        assertThat(settings.keepAliveInterval().map(Setting::value)).contains(Duration.ofMinutes(30));
        assertThat(settings.properties().session().parkAfter()).isEqualTo(Duration.ofMinutes(10));
    }

    @Test
    void pingsCanBeTurnedOff() {
        assertThat(settings(Map.of("holdfast.keep-alive-interval", "0")).keepAliveInterval())
                .isEmpty();
    }

    static Stream<Wrong> wrong() {
        return Stream.of(
                new Wrong("holdfast.connection.heartbeat-interval", "50ms", "100ms to 1h"),
                new Wrong("holdfast.connection.retry-interval", "2h", "0s to 1h"),
                new Wrong("holdfast.connection.max-age", "10ms", "zero (never) or at least 1 s"),
                new Wrong("holdfast.connection.stall-deadline", "1ms", "100ms to 1h"),
                new Wrong("holdfast.session.reconnect-grace-period", "-1s", "not be negative"),
                new Wrong("holdfast.session.idle-timeout", "0s", "at least 1 ms"),
                new Wrong("holdfast.session.response-retention", "-1s", "not be negative"),
                new Wrong("holdfast.session.initialization-timeout", "0s", "at least 1 ms"),
                new Wrong("holdfast.session.max-call-duration", "0s", "at least 1 ms"),
                new Wrong("holdfast.session.park-after", "9s", "10 seconds to 365 days"),
                new Wrong("holdfast.shutdown.drain-timeout", "2h", "0 to 1 hour"),
                new Wrong("holdfast.keep-alive-interval", "-1s", "1 ms to 36,500 days"),
                new Wrong("holdfast.request.max-size", "0B", "at least 1B and less than 2GB, as in 64MB"),
                new Wrong("holdfast.request.max-size", "2GB", "at least 1B and less than 2GB, as in 64MB"),
                new Wrong("holdfast.request.max-total-size", "0B", "at least 1B"),
                new Wrong("holdfast.request.deadline", "1ms", "100ms to 1h"),
                new Wrong(
                        "holdfast.request.allowed-hosts",
                        "https://mcp.example",
                        "as in mcp.example, mcp.example:8443 or *"),
                new Wrong("holdfast.request.allowed-origins", "app.example", "as in https://app.example"),
                new Wrong("holdfast.history.stream-size", "2GB", "1KB to 1GB"),
                new Wrong("holdfast.history.stream-messages", "1", "16 to"),
                new Wrong("holdfast.history.session-size", "1B", "1KB to 4GB"),
                new Wrong("holdfast.history.session-messages", "1", "16 to"),
                new Wrong("holdfast.history.finished-streams", "1025", "0 to 1024"),
                new Wrong("holdfast.history.running-calls", "0", "1 to"),
                new Wrong("holdfast.node.max-sessions", "0", "1 to"),
                new Wrong("holdfast.node.max-principal-sessions", "0", "1 to"),
                new Wrong("holdfast.node.principal-share", "101", "1 to"),
                new Wrong("holdfast.node.max-running-calls", "0", "1 to"),
                new Wrong("holdfast.node.history-size", "1B", "at least 1KB"),
                new Wrong("holdfast.node.history-messages", "1", "at least 16"),
                new Wrong("holdfast.node.name", "a/b", "letters, digits"),
                new Wrong("holdfast.node.lease", "1ms", "500 ms to 5 minutes"),
                new Wrong("holdfast.sse.endpoint", "sse", "between single '/'"),
                new Wrong(
                        "holdfast.sse.message-endpoint",
                        "/a/sse",
                        "it and holdfast.sse.endpoint, which is /sse, must not end with one another"),
                new Wrong("holdfast.sse.message-endpoint", "", "between single '/'"),
                new Wrong("holdfast.sse.base-url", "/x/", "without a slash at its end"),
                new Wrong("holdfast.sse.reconnect-grace-period", "-1s", "not be negative"),
                new Wrong(
                        "holdfast.mcp-endpoint",
                        "/sse",
                        "it and holdfast.sse.endpoint, which is /sse, must not end with one another"),
                new Wrong(
                        "holdfast.mcp-endpoint",
                        "/a/message",
                        "it and holdfast.sse.message-endpoint, which is /message, must not end with one another"),
                new Wrong("holdfast.mcp-endpoint", "", "between single '/'"),
                new Wrong("holdfast.mcp-endpoint", "/{tenant}/mcp", "between single '/'"),
                new Wrong("holdfast.mcp-endpoint", "/*", "between single '/'"),
                new Wrong("holdfast.mcp-endpoint", "/a b", "between single '/'"),
                new Wrong("holdfast.mcp-endpoint", "/a%20b", "between single '/'"),
                new Wrong("holdfast.mcp-endpoint", "/a//b", "between single '/'"),
                new Wrong("holdfast.mcp-endpoint", "/a/../b", "between single '/'"));
    }

    private record Wrong(String property, String value, String range) {}

    @ParameterizedTest
    @MethodSource("wrong")
    void aWrongValueIsRefusedWithPropertyValueAndRange(Wrong wrong) {
        Map<String, String> properties = Map.of("holdfast.sse.enabled", "true", wrong.property(), wrong.value());

        InvalidPropertyException refused = assertThrows(
                InvalidPropertyException.class,
                () -> settings(properties).apply(HoldfastTransportProvider.builder(), new NoStore()));

        assertThat(refused.property()).isEqualTo(wrong.property());
        assertThat(refused.value()).hasToString(wrong.value());
        assertThat(refused.reason()).contains(wrong.range()).doesNotContain(", got");
    }

    /** Those whose range is tested where the store is opened. */
    private static final Set<String> WRONG_ELSEWHERE = Set.of(
            "holdfast.store.rocksdb.folder",
            "holdfast.store.rocksdb.memory",
            "holdfast.store.rocksdb.sweep-interval",
            "holdfast.store.redis.url",
            "holdfast.store.redis.prefix",
            "holdfast.store.redis.timeout",
            "holdfast.store.redis.take-over",
            "holdfast.store.rocksdb.take-over");

    static Stream<String> withoutARange() throws Exception {
        Set<String> ranges = wrong().map(Wrong::property).collect(Collectors.toSet());
        return metadata()
                .map(property -> property.get("name").asString())
                .filter(name -> !ranges.contains(name) && !WRONG_ELSEWHERE.contains(name));
    }

    @ParameterizedTest
    @MethodSource("withoutARange")
    void aPropertyWithoutARangeRefusesWhatIsNotOfItsType(String name) {
        BindException refused = assertThrows(BindException.class, () -> bound(Map.of(name, "perhaps")));

        assertThat(refused.getName().toString()).isEqualTo(name);
    }
}
