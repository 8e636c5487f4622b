package dev.holdfast.spring.autoconfigure;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.io.ResourceLoader;

/** Logs at start what Holdfast does. It has no conditions, so that every application with the starter gets this line. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ImportRuntimeHints(NativeHints.class)
public final class HoldfastReportAutoConfiguration {
    HoldfastReportAutoConfiguration() {}

    @Bean
    static SmartInitializingSingleton holdfastReport(
            ListableBeanFactory beans, ConfigurableEnvironment environment, ResourceLoader resources) {
        return () -> new StartReport(environment, resources.getClassLoader()).write(beans);
    }
}
