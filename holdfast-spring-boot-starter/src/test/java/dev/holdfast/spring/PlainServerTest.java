package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.NoStore;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.redis.RedisServer;
import dev.holdfast.redis.RedisStore;
import dev.holdfast.rocksdb.RocksDbStore;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spring.autoconfigure.HoldfastAutoConfiguration;
import dev.holdfast.spring.autoconfigure.HoldfastIntegrationAutoConfiguration;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.JsonSchema;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.util.ClassUtils;

/** The starter in a server of the plain SDK: no Spring AI on the class path, and only what the application itself needs. */
@Timeout(120)
class PlainServerTest {
    private static final FilteredClassLoader WITHOUT = new FilteredClassLoader(
            name -> name.equals("org.springframework.security.core.context.SecurityContextHolder")
                    || name.startsWith("org.springframework.ai.")
                    || name.startsWith("org.springframework.orm.")
                    // Spring Boot 3 listens by a class of Actuator's tracing as soon as its file is there
                    || (name.startsWith("org.springframework.boot.actuate.")
                            && !name.startsWith("org.springframework.boot.actuate.autoconfigure.tracing."))
                    || name.startsWith("org.springframework.boot.health."));

    private final WebApplicationContextRunner runner = new WebApplicationContextRunner()
            .withClassLoader(WITHOUT)
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
            .withUserConfiguration(Server.class);

    @SpringBootConfiguration
    @EnableAutoConfiguration
    @Import(Server.class)
    static class Plain {}

    @Configuration(proxyBeanMethods = false)
    static class Server {
        @Bean
        @SuppressWarnings("deprecation") // what mcp-core 0.18 has, too
        McpSyncServer server(HoldfastTransportProvider transport) {
            JsonSchema anything = new JsonSchema("object", null, null, null, null, null);
            return McpServer.sync(transport)
                    .serverInfo("plain", "1")
                    .toolCall(
                            Tool.builder().name("echo").inputSchema(anything).build(),
                            (exchange, request) -> CallToolResult.builder()
                                    .addTextContent("echoed")
                                    .build())
                    .build();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Own {
        static final List<String> created = new CopyOnWriteArrayList<>();

        @Bean
        SessionStore store() {
            return new NoStore();
        }

        @Bean
        SessionLifecycleListener failing() {
            return new SessionLifecycleListener() {
                @Override
                public void onSessionCreated(String sessionId) {
                    throw new IllegalStateException("not my day");
                }
            };
        }

        @Bean
        SessionLifecycleListener recording() {
            return new SessionLifecycleListener() {
                @Override
                public void onSessionCreated(String sessionId) {
                    created.add(sessionId);
                }
            };
        }

        @Bean
        Authenticator nobody() {
            return request -> request.getHeader("X-User") == null
                    ? new Authenticator.Stranger()
                    : new Authenticator.Known(request.getHeader("X-User"));
        }

        @Bean
        HoldfastCustomizer retry() {
            return transport -> transport.retryInterval(Duration.ofMillis(4_321));
        }
    }

    @Test
    void aToolIsCalledAndTheApplicationsBeansWin() throws Exception {
        SpringApplication application =
                new SpringApplication(new DefaultResourceLoader(WITHOUT), Plain.class, Own.class);
        try (ConfigurableApplicationContext context = application.run(
                "--server.port=0",
                "--holdfast.store.type=rocksdb",
                "--holdfast.connection.retry-interval=1s",
                "--spring.autoconfigure.exclude=" + hidden())) {
            Wire client = Wire.open(Applications.port(context), "/mcp", "X-User", "me");

            assertThat(client.call("echo", "{}")).contains("echoed").contains("retry: 4321");
            assertThat(Own.created).contains(client.session());
            assertThat(client.as()
                            .post("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}")
                            .statusCode())
                    .isEqualTo(401);
            assertThat(context.getBean(SessionStore.class)).isInstanceOf(NoStore.class);
        }
    }

    /** What is named by files that a class loader cannot hide. */
    private static String hidden() {
        return ImportCandidates.load(AutoConfiguration.class, WITHOUT).getCandidates().stream()
                .filter(name ->
                        name.contains(".security.") || name.contains(".jdbc.") || !ClassUtils.isPresent(name, WITHOUT))
                .collect(Collectors.joining(","));
    }

    @Test
    void theStoreOnDiskIsOpenedAsItIsNamed(@TempDir Path folder) {
        runner.withPropertyValues(
                        "holdfast.store.type=rocksdb",
                        "holdfast.store.rocksdb.folder=" + folder.resolve("sessions"),
                        "holdfast.store.rocksdb.sync=true")
                .run(context -> {
                    assertThat(context.getBean(SessionStore.class)).isInstanceOf(RocksDbStore.class);
                    assertThat(context.getBean(SessionStore.class).promise().durability())
                            .isEqualTo(SessionStore.Durability.POWER_LOSS);
                    assertThat(folder.resolve("sessions")).isNotEmptyDirectory();
                });
    }

    @Test
    void theStoreInRedisIsOpenedWhereSpringDataRedisLooks() {
        try (RedisServer redis = RedisServer.start()) {
            runner.withPropertyValues(
                            "holdfast.store.type=redis",
                            "holdfast.store.redis.timeout=20s",
                            "holdfast.node.lease=30s",
                            "spring.data.redis.url=" + redis.url())
                    .run(context ->
                            assertThat(context.getBean(SessionStore.class)).isInstanceOf(RedisStore.class));
        }
    }

    @Test
    void aBeanOfSpringDataRedisSaysMoreThanItsProperties() {
        try (RedisServer redis = RedisServer.start()) {
            DataRedisConnectionDetails details = new DataRedisConnectionDetails() {
                @Override
                public Standalone getStandalone() {
                    return Standalone.of("127.0.0.1", redis.port());
                }
            };
            runner.withBean(DataRedisConnectionDetails.class, () -> details)
                    .withPropertyValues(
                            "holdfast.store.type=redis",
                            "holdfast.store.redis.timeout=20s",
                            "holdfast.node.lease=30s",
                            "spring.data.redis.masterreplica.nodes=replica:1")
                    .run(context ->
                            assertThat(context.getBean(SessionStore.class)).isInstanceOf(RedisStore.class));
        }
    }

    private static SessionRecord record() {
        return new SessionRecord(
                1,
                "kind",
                "",
                System.currentTimeMillis() + 60_000,
                SessionRecord.NO_EXTENSION,
                "2025-11-25",
                Map.of(),
                Map.of());
    }

    @Test
    void healthTellsOfAStoreThatTakesNoWrites() {
        try (RedisServer redis = RedisServer.start()) {
            runner.withClassLoader(new FilteredClassLoader("org.springframework.ai"))
                    .withConfiguration(AutoConfigurations.of(HoldfastIntegrationAutoConfiguration.class))
                    .withPropertyValues(
                            "holdfast.store.type=redis",
                            "holdfast.store.redis.timeout=20s",
                            "holdfast.node.lease=30s",
                            "spring.data.redis.url=" + redis.url())
                    .run(context -> {
                        RedisStore store = context.getBean(RedisStore.class);
                        HealthIndicator indicator = context.getBean(HealthIndicator.class);
                        assertThat(Objects.requireNonNull(indicator.health()).getDetails())
                                .doesNotContainKey("storeTrouble");

                        redis.command("CONFIG", "SET", "maxmemory", "1");
                        assertThat(store.create(SessionKey.of("session", ""), new Epoch(1, 1), record()))
                                .failsWithin(Duration.ofSeconds(10));

                        Health health = Objects.requireNonNull(indicator.health());
                        assertThat(health.getStatus()).isEqualTo(Status.UP);
                        assertThat(health.getDetails().get("storeTrouble"))
                                .asString()
                                .contains("takes no writes: OOM");
                    });
        }
    }

    @Test
    void aFolderThatIsNoneStopsTheStartAndIsNamed(@TempDir Path folder) throws Exception {
        Path file = Files.createFile(folder.resolve("a-file"));
        runner.withPropertyValues("holdfast.store.type=rocksdb", "holdfast.store.rocksdb.folder=" + file)
                .run(context -> {
                    FailureAnalysis analysis = explained(Objects.requireNonNull(context.getStartupFailure()));

                    assertThat(analysis.getDescription())
                            .contains("Holdfast cannot keep sessions", file + " is not a folder");
                    assertThat(analysis.getAction()).contains("Set holdfast.store.rocksdb.folder to a folder");
                });
    }

    @Test
    void aFolderThatIsInUseStopsTheStartAndIsExplained(@TempDir Path folder) {
        WebApplicationContextRunner one = runner.withPropertyValues(
                "holdfast.store.type=rocksdb", "holdfast.store.rocksdb.folder=" + folder.resolve("sessions"));
        one.run(first -> one.run(second -> {
            FailureAnalysis analysis = explained(Objects.requireNonNull(second.getStartupFailure()));

            assertThat(first).hasNotFailed();
            assertThat(analysis.getDescription()).contains(folder.resolve("sessions") + " is in use");
            assertThat(analysis.getAction()).contains("holdfast.store.rocksdb.folder", "holdfast.store.type=memory");
        }));
    }

    @Test
    void aFolderOfAnotherApplicationIsServedOnlyWhereItIsTakenOver(@TempDir Path folder) {
        WebApplicationContextRunner named = runner.withPropertyValues(
                "holdfast.store.type=rocksdb", "holdfast.store.rocksdb.folder=" + folder.resolve("sessions"));
        named.withPropertyValues("spring.application.name=weather")
                .run(context -> assertThat(context).hasNotFailed());
        named.withPropertyValues("spring.application.name=tides").run(context -> {
            FailureAnalysis analysis = explained(Objects.requireNonNull(context.getStartupFailure()));

            assertThat(analysis.getDescription()).contains("keeps the sessions of weather, and this is tides");
            assertThat(analysis.getAction())
                    .contains("holdfast.store.rocksdb.folder", "holdfast.store.rocksdb.take-over=true");
        });
        named.withPropertyValues("spring.application.name=tides", "holdfast.store.rocksdb.take-over=true")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void aRedisThatIsNotThereStopsTheStartAndIsExplained() {
        runner.withPropertyValues("holdfast.store.type=redis", "holdfast.store.redis.url=redis://127.0.0.1:1")
                .run(context -> {
                    FailureAnalysis analysis = explained(Objects.requireNonNull(context.getStartupFailure()));

                    assertThat(analysis.getDescription()).contains("redis://127.0.0.1:1 cannot be used");
                    assertThat(analysis.getAction()).contains("holdfast.store.redis.url", "spring.data.redis");
                });
    }

    @Test
    void aRedisThatWantsAPasswordStopsTheStartAndIsExplained() {
        try (RedisServer redis = RedisServer.start("--requirepass", "secret")) {
            runner.withPropertyValues(
                            "holdfast.store.type=redis", "holdfast.store.redis.url=redis://127.0.0.1:" + redis.port())
                    .run(context -> {
                        FailureAnalysis analysis = explained(Objects.requireNonNull(context.getStartupFailure()));

                        assertThat(analysis.getDescription()).contains("NOAUTH");
                        assertThat(analysis.getAction()).contains("password");
                    });
        }
    }

    @ParameterizedTest
    @CsvSource({
        "memory, holdfast.enabled=true, retry: 2000",
        "rocksdb, holdfast.enabled=true, retry: 10000",
        "rocksdb, holdfast.connection.retry-interval=3s, retry: 3000",
    })
    void whereSessionsSurviveARestartClientsComeBackLater(
            String store, String property, String retry, @TempDir Path folder) throws Exception {
        SpringApplication application = new SpringApplication(new DefaultResourceLoader(WITHOUT), Plain.class);
        try (ConfigurableApplicationContext context = application.run(
                "--server.port=0",
                "--holdfast.store.type=" + store,
                "--holdfast.store.rocksdb.folder=" + folder.resolve("sessions"),
                "--" + property,
                "--spring.autoconfigure.exclude=" + hidden())) {
            Wire client = Wire.open(Applications.port(context), "/mcp");

            assertThat(client.call("echo", "{}")).contains("echoed").contains(retry + "\n");
        }
    }

    @Test
    void theStoreInMemoryIsTheDefault() {
        runner.run(context -> {
            assertThat(context.getBean(SessionStore.class)).isInstanceOf(NoStore.class);
            ServletRegistrationBean<?> servlet = context.getBean("holdfastServlet", ServletRegistrationBean.class);
            assertThat(List.copyOf(servlet.getUrlMappings())).containsExactly("/mcp", "/mcp/");
        });
    }

    @Test
    void aStoreThatIsNotOnTheClassPathIsAskedFor() {
        runner.withClassLoader(new FilteredClassLoader("org.springframework.ai", "dev.holdfast.rocksdb"))
                .withPropertyValues("holdfast.store.type=rocksdb")
                .run(context -> assertThat(explained(Objects.requireNonNull(context.getStartupFailure()))
                                .getAction())
                        .isEqualTo(
                                "Add dev.holdfast:holdfast-store-rocksdb to your dependencies, or set holdfast.store.type to"
                                        + " memory or redis."));
    }

    @Test
    void withoutHoldfastThereIsNothingOfIt() {
        runner.withPropertyValues("holdfast.enabled=false")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("HoldfastTransportProvider"));
    }

    @ParameterizedTest
    @CsvSource({
        "holdfast.connection.heartbeat-interval, 50ms, 100ms to 1h",
        "holdfast.session.park-after, 1s, 10 seconds to 365 days",
        "holdfast.store.rocksdb.memory, 1KB, 1 MiB to 64 GiB",
        "holdfast.store.rocksdb.sweep-interval, 2h, 10 ms to 1 hour"
    })
    void aWrongValueStopsTheStartAndIsExplained(String property, String value, String range, @TempDir Path folder) {
        runner.withPropertyValues(
                        "holdfast.store.type=rocksdb",
                        "holdfast.store.rocksdb.folder=" + folder,
                        property + "=" + value)
                .run(context -> {
                    FailureAnalysis analysis = explained(Objects.requireNonNull(context.getStartupFailure()));

                    assertThat(analysis.getDescription())
                            .contains(property)
                            .contains(value)
                            .contains(range);
                    assertThat(analysis.getAction()).contains(property);
                });
    }

    private static FailureAnalysis explained(Throwable failure) {
        return SpringFactoriesLoader.forDefaultResourceLocation()
                .load(FailureAnalyzer.class, SpringFactoriesLoader.FailureHandler.handleMessage((message, cause) -> {}))
                .stream()
                .filter(analyzer -> analyzer.getClass().getName().startsWith("dev.holdfast"))
                .map(analyzer -> Optional.ofNullable(analyzer.analyze(failure)))
                .flatMap(Optional::stream)
                .findFirst()
                .orElseThrow();
    }
}
