package dev.holdfast.spring.autoconfigure;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spring.actuate.HoldfastHealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health of Holdfast, where Actuator asks for it. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
@ConditionalOnEnabledHealthIndicator("holdfast")
public final class HoldfastHealthAutoConfiguration {
    HoldfastHealthAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean(name = "holdfastHealthIndicator")
    HoldfastHealthIndicator holdfastHealthIndicator(HoldfastTransportProvider transport) {
        return new HoldfastHealthIndicator(transport);
    }
}
