package dev.holdfast.spring.autoconfigure;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spring.actuate.HoldfastEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The endpoint {@code holdfast}, where Actuator is there and exposes it. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
@ConditionalOnAvailableEndpoint(HoldfastEndpoint.class)
public final class HoldfastEndpointAutoConfiguration {
    HoldfastEndpointAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    HoldfastEndpoint holdfastEndpoint(HoldfastTransportProvider transport) {
        return new HoldfastEndpoint(transport);
    }
}
