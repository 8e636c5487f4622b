package dev.holdfast.spring.client.autoconfigure;

import dev.holdfast.spring.client.ClientConnections;
import dev.holdfast.spring.client.actuate.ClientMeters;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** The meters of the connections, where there is a registry for them. */
@AutoConfiguration(
        after = HoldfastClientAutoConfiguration.class,
        afterName = "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean({MeterRegistry.class, ClientConnections.class})
public final class HoldfastClientMetricsAutoConfiguration {
    HoldfastClientMetricsAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    ClientMeters holdfastClientMeters(MeterRegistry registry, ClientConnections connections) {
        return new ClientMeters(registry, connections);
    }
}
