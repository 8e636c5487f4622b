package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.NoStore;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spring.autoconfigure.HoldfastAutoConfiguration;
import dev.holdfast.spring.autoconfigure.HoldfastEndpoint;
import dev.holdfast.spring.autoconfigure.HoldfastIntegrationAutoConfiguration;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;

/** An application with several transports of its own. */
class SeveralTransportsTest {
    private static final List<Class<?>> OF_ONE =
            List.of(ServletRegistrationBean.class, HealthIndicator.class, HoldfastEndpoint.class);

    private final WebApplicationContextRunner runner = new WebApplicationContextRunner()
            .withClassLoader(new FilteredClassLoader("org.springframework.ai"))
            .withPropertyValues("management.endpoints.web.exposure.include=holdfast")
            .withConfiguration(
                    AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastIntegrationAutoConfiguration.class));

    @Configuration(proxyBeanMethods = false)
    static class Registries {
        @Bean
        MeterRegistry meters() {
            return new SimpleMeterRegistry();
        }

        @Bean
        ObservationRegistry observations() {
            return ObservationRegistry.create();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Import(Registries.class)
    static class Two {
        @Bean(destroyMethod = "destroy")
        HoldfastTransportProvider one() {
            return HoldfastTransportProvider.builder().mcpEndpoint("/one").build();
        }

        @Bean(destroyMethod = "destroy")
        HoldfastTransportProvider other() {
            return HoldfastTransportProvider.builder().mcpEndpoint("/other").build();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Import(Registries.class)
    static class OneIsPrimary {
        @Primary
        @Bean(destroyMethod = "destroy")
        HoldfastTransportProvider one() {
            return HoldfastTransportProvider.builder().mcpEndpoint("/one").build();
        }

        @Bean(destroyMethod = "destroy")
        HoldfastTransportProvider other() {
            return HoldfastTransportProvider.builder().mcpEndpoint("/other").build();
        }
    }

    @Test
    void theyAreLeftToTheApplicationAndAllAreDrained() {
        runner.withUserConfiguration(Two.class).run(context -> {
            assertThat(context).hasNotFailed();
            OF_ONE.forEach(type -> assertThat(context).doesNotHaveBean(type));
            assertThat(context.getBean(MeterRegistry.class)
                            .find("holdfast.sessions")
                            .gauges())
                    .isEmpty();
            assertAllAreDrained(
                    context.getBean("holdfastDrain", SmartLifecycle.class),
                    context.getBeansOfType(HoldfastTransportProvider.class).values().stream()
                            .toList());
        });
    }

    @Test
    void theOneThatIsPrimaryIsServedAndWatched() {
        runner.withUserConfiguration(OneIsPrimary.class).run(context -> {
            assertThat(context).hasNotFailed();
            OF_ONE.forEach(type -> assertThat(context).hasSingleBean(type));
            ServletRegistrationBean<?> servlet = context.getBean("holdfastServlet", ServletRegistrationBean.class);
            assertThat(List.copyOf(servlet.getUrlMappings())).containsExactly("/one", "/one/");
            assertThat(context.getBean(MeterRegistry.class)
                            .find("holdfast.sessions")
                            .gauges())
                    .isNotEmpty();
            assertAllAreDrained(
                    context.getBean("holdfastDrain", SmartLifecycle.class),
                    context.getBeansOfType(HoldfastTransportProvider.class).values().stream()
                            .toList());
        });
    }

    @Configuration(proxyBeanMethods = false)
    static class Stores {
        @Bean
        SessionStore storeOfOne() {
            return new NoStore();
        }

        @Bean
        SessionStore storeOfOther() {
            return new NoStore();
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {Two.class, OneIsPrimary.class})
    void eachMayHaveAStoreOfItsOwn(Class<?> application) {
        runner.withUserConfiguration(application, Stores.class)
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void aChildContextThatClosesDrainsNothingOfItsParent() {
        runner.withUserConfiguration(OneIsPrimary.class).run(parent -> {
            runner.withParent(parent).run(child -> assertThat(child).hasNotFailed());
            assertThat(parent.getBeansOfType(HoldfastTransportProvider.class).values())
                    .noneMatch(transport -> transport.engine().draining());
        });
    }

    private static void assertAllAreDrained(SmartLifecycle drain, List<HoldfastTransportProvider> transports) {
        assertThat(transports)
                .hasSize(2)
                .noneMatch(transport -> transport.engine().draining());

        drain.stop();

        assertThat(transports).allMatch(transport -> transport.engine().draining());
    }
}
