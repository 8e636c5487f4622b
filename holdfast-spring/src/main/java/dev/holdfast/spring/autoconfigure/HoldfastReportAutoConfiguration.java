package dev.holdfast.spring.autoconfigure;

import dev.holdfast.mcp.HoldfastRequest;
import dev.holdfast.micrometer.HoldfastMetrics;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.io.ResourceLoader;

/**
 * Logs at start what Holdfast does. Every application with a starter for servers gets this line: they alone bring both classes, which
 * can be loaded without a servlet container.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({HoldfastRequest.class, HoldfastMetrics.class})
@ImportRuntimeHints(HoldfastReportAutoConfiguration.LookedUp.class)
public final class HoldfastReportAutoConfiguration {
    HoldfastReportAutoConfiguration() {}

    @Bean
    static SmartInitializingSingleton holdfastReport(
            ListableBeanFactory beans, ConfigurableEnvironment environment, ResourceLoader resources) {
        return () -> new StartReport(environment, resources.getClassLoader()).write(beans);
    }

    /** The classes whose presence is asked for when the application starts: a native image knows them by name only if it is told so. */
    static final class LookedUp implements RuntimeHintsRegistrar {
        @Override
        public void registerHints(RuntimeHints hints, @Nullable ClassLoader classes) {
            Stream.of(
                            StartReport.SERVLET,
                            StockTransport.SERVER,
                            StockTransport.SERVER_OF_1_0,
                            StockTransport.STREAMABLE,
                            StockTransport.STREAMABLE_1,
                            HoldfastAutoConfiguration.MVC,
                            HoldfastAutoConfiguration.MVC_3,
                            SpringAi.JACKSON_3,
                            SpringAi.JACKSON_2,
                            RedisSettings.DETAILS,
                            RedisSettings.DETAILS_3,
                            StoreConfiguration.ROCKSDB,
                            StoreConfiguration.REDIS)
                    .forEach(name -> hints.reflection().registerTypeIfPresent(classes, name));
        }
    }
}
