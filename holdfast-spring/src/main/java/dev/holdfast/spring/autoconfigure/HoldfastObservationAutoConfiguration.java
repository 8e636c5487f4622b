package dev.holdfast.spring.autoconfigure;

import dev.holdfast.CallListener;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.micrometer.McpCallConvention;
import dev.holdfast.micrometer.ObservedCalls;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** An observation of each call, and with it a span, where there is a registry for observations. */
@AutoConfiguration(
        after = HoldfastAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration"
        })
@ConditionalOnClass(ObservationRegistry.class)
@ConditionalOnBean({ObservationRegistry.class, HoldfastTransportProvider.class})
public final class HoldfastObservationAutoConfiguration {
    HoldfastObservationAutoConfiguration() {}

    @Bean
    CallListener holdfastObservedCalls(ObservationRegistry registry, ObjectProvider<McpCallConvention> convention) {
        return new ObservedCalls(registry, convention.getIfUnique(McpCallConvention::new));
    }
}
