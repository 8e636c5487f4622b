package dev.holdfast.spring.autoconfigure;

import dev.holdfast.CallListener;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.micrometer.HoldfastMetrics;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spring.HoldfastCustomizer;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** The meters of Holdfast, where there is a registry for them. */
@AutoConfiguration(
        after = HoldfastAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean({MeterRegistry.class, HoldfastTransportProvider.class})
public final class HoldfastMetricsAutoConfiguration {
    HoldfastMetricsAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    HoldfastMetrics holdfastMetrics(MeterRegistry registry) {
        return new HoldfastMetrics(registry);
    }

    @Bean
    SessionLifecycleListener holdfastMeteredSessions(HoldfastMetrics metrics) {
        return metrics.sessions();
    }

    @Bean
    CallListener holdfastMeteredCalls(HoldfastMetrics metrics) {
        return metrics.calls();
    }

    /**
     * Measures the store of the starter's transport, unless a customizer of the application, which comes later, sets another one. An
     * application with several stores has transports of its own.
     */
    @Bean
    @ConditionalOnSingleCandidate(SessionStore.class)
    @Order(Ordered.HIGHEST_PRECEDENCE)
    HoldfastCustomizer holdfastMeteredStore(HoldfastMetrics metrics, SessionStore store) {
        return transport -> transport.store(metrics.timed(store));
    }

    @Bean
    @ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
    SmartInitializingSingleton holdfastMeters(HoldfastMetrics metrics, HoldfastTransportProvider transport) {
        return () -> metrics.watch(transport.engine());
    }
}
