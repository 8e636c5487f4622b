package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import java.lang.reflect.Proxy;
import java.util.Properties;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStreamableServerTransportProvider;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.core.env.PropertiesPropertySource;
import org.springframework.core.env.StandardEnvironment;

/** Whose place Holdfast takes, and whose it leaves alone. */
class StockTransportTest {
    private static final ClassLoader ALL = StockTransportTest.class.getClassLoader();

    private final WebApplicationContextRunner runner =
            new WebApplicationContextRunner().withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class));

    private static StandardEnvironment environment(String... properties) {
        Properties values = new Properties();
        Stream.of(properties).forEach(property -> {
            int equals = property.indexOf('=');
            values.setProperty(property.substring(0, equals), property.substring(equals + 1));
        });
        StandardEnvironment environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(new PropertiesPropertySource("test", values));
        return environment;
    }

    @ParameterizedTest
    @CsvSource({
        "protocol=STREAMABLE, sse.enabled=false, REPLACED",
        "protocol=streamable, sse.enabled=false, REPLACED",
        "protocol=STATELESS, sse.enabled=true, KEPT",
        "protocol=SSE, sse.enabled=false, KEPT",
        "protocol=SSE, sse.enabled=true, REPLACED",
        "name=none, sse.enabled=false, KEPT",
        "name=none, sse.enabled=true, REPLACED",
        "stdio=true, sse.enabled=true, KEPT",
        "enabled=false, sse.enabled=true, KEPT"
    })
    void itDependsOnTheProtocol(String springAi, String holdfast, StockTransport expected) {
        StandardEnvironment environment = environment("spring.ai.mcp.server." + springAi, "holdfast." + holdfast);

        assertThat(StockTransport.of(environment, ALL)).isEqualTo(expected);
    }

    @Test
    void aReactiveServerIsLeftAlone() {
        FilteredClassLoader reactive = new FilteredClassLoader("org.springframework.ai.mcp.server.webmvc");

        assertThat(StockTransport.of(environment("spring.ai.mcp.server.protocol=STREAMABLE"), reactive))
                .isEqualTo(StockTransport.KEPT);
    }

    private static AutoConfigurationMetadata metadata() {
        return AutoConfigurationMetadata.class.cast(Proxy.newProxyInstance(
                ALL, new Class<?>[] {AutoConfigurationMetadata.class}, (proxy, method, arguments) -> {
                    throw new AssertionError("nothing is asked of the metadata");
                }));
    }

    private static boolean[] left(ClassLoader classes, String... properties) {
        StockTransport.Filter filter = new StockTransport.Filter();
        filter.setBeanClassLoader(classes);
        filter.setEnvironment(environment(properties));
        return filter.match(
                new String[] {StockTransport.STREAMABLE, StockTransport.SERVER, null, StockTransport.SSE}, metadata());
    }

    /** Whether Spring AI's transport makes way, where these classes and files are there. */
    static boolean isLeftOut(ClassLoader classes) {
        return !left(classes, "spring.ai.mcp.server.protocol=STREAMABLE")[0];
    }

    @ParameterizedTest
    @CsvSource({"true, false", "on, false", "1, false", "false, true", "off, true"})
    void theStockTransportGoesWhereHoldfastComes(String enabled, boolean stays) {
        boolean[] left = left(ALL, "spring.ai.mcp.server.protocol=STREAMABLE", "holdfast.enabled=" + enabled);

        assertThat(left).containsExactly(stays, true, true, stays);
        runner.withPropertyValues("spring.ai.mcp.server.protocol=STREAMABLE", "holdfast.enabled=" + enabled)
                .run(context -> assertThat(context.getBeansOfType(HoldfastTransportProvider.class))
                        .hasSize(stays ? 0 : 1));
    }

    @Test
    void aTransportOfTheApplicationsOwnWins() {
        runner.withPropertyValues("spring.ai.mcp.server.protocol=STREAMABLE")
                .withBean(
                        WebMvcStreamableServerTransportProvider.class,
                        () -> WebMvcStreamableServerTransportProvider.builder().build())
                .run(context -> assertThat(context)
                        .hasSingleBean(McpServerTransportProviderBase.class)
                        .doesNotHaveBean(HoldfastTransportProvider.class)
                        .doesNotHaveBean(HoldfastDrain.class));
    }

    @Test
    void aStatelessServerGetsNoTransport() {
        runner.withPropertyValues("spring.ai.mcp.server.protocol=STATELESS")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastTransportProvider.class));
    }
}
