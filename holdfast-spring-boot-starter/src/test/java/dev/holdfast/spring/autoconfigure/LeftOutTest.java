package dev.holdfast.spring.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.CallListener;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.micrometer.HoldfastMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.core.io.ClassPathResource;

/** What an application leaves out, by its dependencies or its properties, takes nothing else with it. */
class LeftOutTest {
    private final WebApplicationContextRunner runner = new WebApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HoldfastAutoConfiguration.class,
                    HoldfastReportAutoConfiguration.class,
                    HoldfastIntegrationAutoConfiguration.class))
            .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
            .withBean(ObservationRegistry.class, ObservationRegistry::create)
            .withPropertyValues(
                    "spring.ai.mcp.server.protocol=STREAMABLE", "management.endpoints.web.exposure.include=*");

    @Test
    void withEverythingThereAreMetersHealthAndTheEndpoint() {
        runner.run(context -> assertThat(context)
                .hasSingleBean(HoldfastTransportProvider.class)
                .hasSingleBean(HoldfastMetrics.class)
                .hasSingleBean(HealthIndicator.class)
                .hasSingleBean(HoldfastEndpoint.class)
                .hasBean("holdfastObservedCalls"));
    }

    @Test
    void withoutHoldfastMicrometerOnlyTheMetersAreMissing() {
        runner.withClassLoader(new FilteredClassLoader("dev.holdfast.micrometer"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(HoldfastTransportProvider.class)
                        .hasBean("holdfastServlet")
                        .hasBean("holdfastReport")
                        .hasBean("holdfastFilter")
                        .hasSingleBean(HealthIndicator.class)
                        .hasSingleBean(HoldfastEndpoint.class)
                        .doesNotHaveBean(HoldfastMetrics.class)
                        .doesNotHaveBean(CallListener.class));
    }

    @Test
    void withoutHoldfastMicrometerTheStockTransportGoesToo() {
        assertThat(StockTransportTest.isLeftOut(new FilteredClassLoader("dev.holdfast.micrometer")))
                .isTrue();
    }

    /** It has the SDK's adapter as a library, perhaps for a transport that it serves by itself. */
    @Test
    void anApplicationWithoutAStarterForServersKeepsItsTransport() {
        FilteredClassLoader client = new FilteredClassLoader(new ClassPathResource("META-INF/holdfast-server-starter"));

        assertThat(StockTransportTest.isLeftOut(client)).isFalse();
        runner.withClassLoader(client)
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(HoldfastTransportProvider.class)
                        .doesNotHaveBean("holdfastReport"));
    }

    @Test
    void healthAndEndpointHavePropertiesOfTheirOwn() {
        runner.withPropertyValues(
                        "management.health.holdfast.enabled=false", "management.endpoint.holdfast.access=NONE")
                .run(context -> assertThat(context)
                        .hasSingleBean(HoldfastTransportProvider.class)
                        .hasSingleBean(HoldfastMetrics.class)
                        .doesNotHaveBean(HealthIndicator.class)
                        .doesNotHaveBean(HoldfastEndpoint.class));
    }
}
