package dev.holdfast.spring.autoconfigure;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spring.actuate.Boot3HealthIndicator;
import dev.holdfast.spring.actuate.HoldfastHealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The health of Holdfast, where Actuator asks for it. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
@ConditionalOnMissingBean(name = "holdfastHealthIndicator")
public final class HoldfastHealthAutoConfiguration {
    HoldfastHealthAutoConfiguration() {}

    /** In Spring Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
    @ConditionalOnEnabledHealthIndicator("holdfast")
    static class Boot4 {
        @Bean
        HoldfastHealthIndicator holdfastHealthIndicator(HoldfastTransportProvider transport) {
            return new HoldfastHealthIndicator(transport);
        }
    }

    /** In Spring Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({
        org.springframework.boot.actuate.health.HealthIndicator.class,
        org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator.class
    })
    @org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator("holdfast")
    static class Boot3 {
        @Bean
        Boot3HealthIndicator holdfastHealthIndicator(HoldfastTransportProvider transport) {
            return new Boot3HealthIndicator(transport);
        }
    }
}
