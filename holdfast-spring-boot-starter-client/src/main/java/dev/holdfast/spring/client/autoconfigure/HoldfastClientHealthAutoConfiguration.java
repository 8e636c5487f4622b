package dev.holdfast.spring.client.autoconfigure;

import dev.holdfast.spring.client.ClientConnections;
import dev.holdfast.spring.client.actuate.ConnectionHealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health of each connection, where Actuator asks for it. */
@AutoConfiguration(after = HoldfastClientAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnBean(ClientConnections.class)
@ConditionalOnEnabledHealthIndicator("holdfast-client")
public final class HoldfastClientHealthAutoConfiguration {
    HoldfastClientHealthAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean(name = "holdfastClientHealthContributor")
    CompositeHealthContributor holdfastClientHealthContributor(ClientConnections connections) {
        return CompositeHealthContributor.fromMap(connections.all(), ConnectionHealthIndicator::new);
    }
}
