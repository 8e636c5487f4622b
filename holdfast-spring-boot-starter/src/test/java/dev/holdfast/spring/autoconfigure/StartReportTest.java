package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spring.properties.UnknownProperties;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStreamableServerTransportProvider;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** The line that every application gets: what Holdfast serves, or why it serves nothing and what to do. */
class StartReportTest {
    private static final AutoConfigurations OURS =
            AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastReportAutoConfiguration.class);
    private static final FilteredClassLoader WITHOUT_SPRING_AI = new FilteredClassLoader("org.springframework.ai");
    private static final String STREAMABLE = "spring.ai.mcp.server.protocol=STREAMABLE";

    private final Logger logger = (Logger) LoggerFactory.getLogger(HoldfastReportAutoConfiguration.class);
    private final Logger unknown = (Logger) LoggerFactory.getLogger(UnknownProperties.class);
    private final ListAppender<ILoggingEvent> written = new ListAppender<>();
    /** The build gives the sizes of other tests as properties of the system that begin with the same word. */
    private final WebApplicationContextRunner runner = new WebApplicationContextRunner()
            .withInitializer(StartReportTest::withoutTheSystem)
            .withConfiguration(OURS);

    private final ApplicationContextRunner noWeb = new ApplicationContextRunner()
            .withInitializer(StartReportTest::withoutTheSystem)
            .withConfiguration(OURS);
    private @Nullable Level before;

    @BeforeEach
    void listen() {
        before = logger.getLevel();
        logger.setLevel(Level.INFO);
        written.start();
        logger.addAppender(written);
        unknown.setLevel(Level.WARN);
        unknown.addAppender(written);
    }

    @AfterEach
    void leave() {
        logger.detachAppender(written);
        unknown.detachAppender(written);
        unknown.setLevel(null);
        logger.setLevel(before);
    }

    private static void withoutTheSystem(ConfigurableApplicationContext context) {
        context.getEnvironment()
                .getPropertySources()
                .remove(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME);
    }

    private List<String> told() {
        return written.list.stream()
                .map(line -> line.getLevel() + " " + line.getFormattedMessage())
                .toList();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "spring.ai.mcp.server.name=x | WARN Holdfast serves nothing: Spring AI serves SSE, as it does unless"
                        + " spring.ai.mcp.server.protocol=STREAMABLE is set. Set it, or holdfast.sse.enabled=true",
                "spring.ai.mcp.server.protocol=SSE | WARN Holdfast serves nothing: Spring AI serves SSE",
                "spring.ai.mcp.server.protocol=STATELESS | WARN Holdfast serves nothing: a server that is STATELESS has no"
                        + " sessions to keep. Set spring.ai.mcp.server.protocol=STREAMABLE",
                "spring.ai.mcp.server.protocol=OTHER | WARN Holdfast serves nothing: it does not know the protocol OTHER."
                        + " Set spring.ai.mcp.server.protocol=STREAMABLE",
                "spring.ai.mcp.server.stdio=true | WARN Holdfast serves nothing: spring.ai.mcp.server.stdio is true",
                "spring.ai.mcp.server.enabled=false | INFO Holdfast serves nothing: spring.ai.mcp.server.enabled is false",
                "holdfast.enabled=false | INFO Holdfast serves nothing: holdfast.enabled is false",
                "spring.ai.mcp.server.protocol=STREAMABLE | INFO Holdfast serves /mcp (Streamable HTTP): sessions in memory,"
                        + " until this process ends, grace 30m",
                "holdfast.sse.enabled=true | INFO Holdfast serves /mcp (Streamable HTTP) and /sse, /mcp/message (HTTP+SSE): sessions in memory",
            })
    void oneLineSaysWhatIsServedOrWhyNothingIs(String property, String line) {
        runner.withPropertyValues(property).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(told()).singleElement().asString().startsWith(line);
        });
    }

    @Test
    void theFolderOfTheStoreIsTold(@TempDir Path folder) {
        runner.withPropertyValues(
                        STREAMABLE,
                        "holdfast.store.type=rocksdb",
                        "holdfast.store.rocksdb.folder=" + folder.resolve("sessions"),
                        "holdfast.session.reconnect-grace-period=2h")
                .run(context -> assertThat(told())
                        .containsExactly("INFO Holdfast serves /mcp (Streamable HTTP): sessions in RocksDB at "
                                + folder.resolve("sessions") + ", grace 2h"));
    }

    @Test
    void aReactiveServerOfSpringAiIsTold() {
        runner.withClassLoader(new FilteredClassLoader("org.springframework.ai.mcp.server.webmvc"))
                .withPropertyValues(STREAMABLE)
                .run(context -> assertThat(told())
                        .singleElement()
                        .asString()
                        .startsWith("WARN Holdfast serves nothing: it needs Spring MVC. Depend on"
                                + " spring-ai-starter-mcp-server-webmvc in the place of"));
    }

    @Test
    void anApplicationWithoutServletsIsTold() {
        // what extends a servlet cannot be loaded there either
        noWeb.withClassLoader(new FilteredClassLoader(
                        "jakarta.servlet", "org.springframework.ai", "dev.holdfast.mcp.HoldfastTransportProvider"))
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(told())
                            .singleElement()
                            .asString()
                            .contains("no servlet container is on the class path. Depend on spring-boot-starter-web");
                });
    }

    @Test
    void anApplicationThatServesNoWebIsTold() {
        noWeb.withClassLoader(WITHOUT_SPRING_AI)
                .run(context -> assertThat(told())
                        .containsExactly("WARN Holdfast serves nothing: the application is no servlet web application."
                                + " Set spring.main.web-application-type=servlet"));
    }

    @Test
    void aTransportOfTheApplicationsOwnIsNamed() {
        runner.withPropertyValues(STREAMABLE)
                .withBean(
                        "mine",
                        WebMvcStreamableServerTransportProvider.class,
                        () -> WebMvcStreamableServerTransportProvider.builder().build())
                .run(context -> assertThat(told())
                        .singleElement()
                        .asString()
                        .startsWith(
                                "WARN Holdfast serves nothing: the application has a transport of its own, the bean mine of"
                                        + " type " + WebMvcStreamableServerTransportProvider.class.getName())
                        .endsWith("Remove it, or make it a HoldfastTransportProvider"));
    }

    @Test
    void severalTransportsOfWhichNoneIsPrimaryAreNamed() {
        runner.withClassLoader(WITHOUT_SPRING_AI)
                .withBean(
                        "one",
                        HoldfastTransportProvider.class,
                        () -> HoldfastTransportProvider.builder().build())
                .withBean(
                        "two",
                        HoldfastTransportProvider.class,
                        () -> HoldfastTransportProvider.builder().build())
                .run(context -> assertThat(told())
                        .singleElement()
                        .asString()
                        .startsWith("WARN Holdfast serves nothing: none of the transports one, two is @Primary. Mark"));
    }

    @Test
    void anotherVersionOfSpringIsTold() {
        runner.withClassLoader(new FilteredClassLoader("org.springframework.ai.mcp.server.common"))
                .run(context -> assertThat(told())
                        .containsExactly(
                                "WARN Holdfast serves nothing: it needs Spring AI 1.1 or 2.0, and this one is older"));
        assertThat(List.of("3.4.13", "3.2.0", "2.7.18", "5.0.0")).allMatch(StockTransport::ofAnotherBoot);
        assertThat(List.of("3.5.16", "4.0.0", "4.1.2")).noneMatch(StockTransport::ofAnotherBoot);
    }

    @Test
    void aPropertyThatIsNoneIsToldWithTheNearest() {
        runner.withPropertyValues(
                        STREAMABLE,
                        "holdfast.session.reconect-grace-period=1h",
                        "holdfast.request.allowed-host[0]=mcp.example",
                        "holdfast.request.allowed-origins[0]=https://app.example",
                        "holdfast.client.enabled=true")
                .run(context -> assertThat(told())
                        .hasSize(3)
                        .contains(
                                "WARN holdfast.request.allowed-host is no property of Holdfast and has no effect: do you mean"
                                        + " holdfast.request.allowed-hosts?",
                                "WARN holdfast.session.reconect-grace-period is no property of Holdfast and has no effect: do"
                                        + " you mean holdfast.session.reconnect-grace-period?"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "holdfast.session.reconnect_grace_period=1h",
                "holdfast.session.reconnectGracePeriod=1h",
                "holdfast.session.RECONNECT_GRACE_PERIOD=1h",
                "HOLDFAST.SESSION.RECONNECTGRACEPERIOD=1h",
                "holdfast.request.allowedHosts[0]=mcp.example"
            })
    void aPropertyInAnotherFormIsTaken(String property) {
        runner.withPropertyValues(STREAMABLE, property)
                .run(context -> assertThat(told()).singleElement().asString().startsWith("INFO Holdfast serves /mcp"));
    }

    @ParameterizedTest
    @CsvSource({
        "holdfast.store-type, holdfast.store.type",
        "holdfast.session.idle.timeout, holdfast.session.idle-timeout",
        "holdfast.idle-timeout, holdfast.session.idle-timeout",
        "holdfast.store.rocksdb.path, holdfast.store.rocksdb.folder or holdfast.store.rocksdb.memory or"
                + " holdfast.store.rocksdb.sweep-interval or holdfast.store.rocksdb.sync or holdfast.store.rocksdb.take-over",
    })
    void whatMayBeMeantByAPropertyThatIsNoneIsTold(String property, String meant) {
        runner.withPropertyValues(STREAMABLE, property + "=redis")
                .run(context -> assertThat(told())
                        .contains("WARN " + property + " is no property of Holdfast and has no effect: do you mean "
                                + meant + "?"));
    }

    @Test
    void aTransportOfAParentIsTold() {
        noWeb.withClassLoader(WITHOUT_SPRING_AI)
                .run(parent -> runner.withClassLoader(WITHOUT_SPRING_AI)
                        .withParent(parent)
                        .run(context -> assertThat(told()).last().asString().startsWith("INFO Holdfast serves /mcp")));
    }

    @Test
    void aBeanInThePlaceOfTheServletIsTold() {
        runner.withPropertyValues(STREAMABLE)
                .withBean("holdfastServlet", String.class, () -> "none")
                .run(context -> assertThat(told())
                        .containsExactly("WARN Holdfast serves nothing: the bean holdfastServlet is no"
                                + " ServletRegistrationBean. Give it another name"));
    }

    @Test
    void anAutoConfigurationThatIsExcludedIsTold() {
        new WebApplicationContextRunner()
                .withInitializer(StartReportTest::withoutTheSystem)
                .withConfiguration(AutoConfigurations.of(HoldfastReportAutoConfiguration.class))
                .withPropertyValues(STREAMABLE)
                .withBean(
                        HoldfastTransportProvider.class,
                        () -> HoldfastTransportProvider.builder().build())
                .run(
                        context -> assertThat(told())
                                .containsExactly(
                                        "WARN Holdfast serves nothing: HoldfastAutoConfiguration is excluded. Do not exclude it"));
    }

    @Test
    void aVariableOfTheEnvironmentIsToldWhereItIsNear() {
        SystemEnvironmentPropertySource variables = new SystemEnvironmentPropertySource(
                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                Map.of(
                        "HOLDFAST_STORE_TPYE", "redis",
                        "HOLDFAST_SERVICE_HOST", "10.0.0.1",
                        "HOLDFAST_SESSION_RECONNECT_GRACE_PERIOD", "1h",
                        "HOLDFAST_SESSION_IDLETIMEOUT", "1h"));
        runner.withInitializer(context -> context.getEnvironment()
                        .getPropertySources()
                        .replace(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables))
                .withPropertyValues(STREAMABLE)
                .run(context -> assertThat(told())
                        .filteredOn(line -> line.startsWith("WARN"))
                        .containsExactly(
                                "WARN holdfast.store.tpye is no property of Holdfast and has no effect: do you mean"
                                        + " holdfast.store.type?"));
    }

    @ParameterizedTest
    @CsvSource({"30s, 30s", "1m, 60s", "40s, 40s"})
    void aDrainThatSpringDoesNotWaitForIsTold(String drain, String phase) {
        runner.withPropertyValues(
                        STREAMABLE,
                        "holdfast.shutdown.drain-timeout=" + drain,
                        "spring.lifecycle.timeout-per-shutdown-phase=" + phase)
                .run(context -> assertThat(told())
                        .hasSize(2)
                        .first()
                        .asString()
                        .startsWith("WARN holdfast.shutdown.drain-timeout is " + drain
                                + ", but Spring stops waiting after ")
                        .contains("set spring.lifecycle.timeout-per-shutdown-phase to more"));
    }
}
