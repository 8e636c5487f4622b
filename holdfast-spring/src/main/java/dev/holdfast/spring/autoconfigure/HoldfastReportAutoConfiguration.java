package dev.holdfast.spring.autoconfigure;

import dev.holdfast.mcp.HoldfastRequest;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.Setting;
import dev.holdfast.spring.properties.TransportSettings;
import dev.holdfast.spring.properties.UnknownProperties;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnResource;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.util.ClassUtils;

/**
 * Says in the log what Holdfast serves, or why it serves nothing and what to do about it; and which properties do not do what they say.
 * Every application with a starter for servers gets this line, also one without a servlet container.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass(HoldfastRequest.class)
@ConditionalOnResource(resources = StockTransport.STARTER)
@ImportRuntimeHints(HoldfastReportAutoConfiguration.LookedUp.class)
public final class HoldfastReportAutoConfiguration {
    private static final Logger log = LoggerFactory.getLogger(HoldfastReportAutoConfiguration.class);
    static final String SERVLET = "jakarta.servlet.http.HttpServlet";
    private static final String PHASE = "spring.lifecycle.timeout-per-shutdown-phase";
    private static final Duration SPRINGS_PHASE = Duration.ofSeconds(30);

    HoldfastReportAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean(name = UnknownProperties.BEAN, search = SearchStrategy.CURRENT)
    static BeanFactoryPostProcessor holdfastUnknownProperties(ConfigurableEnvironment environment) {
        return UnknownProperties.warning(environment);
    }

    @Bean
    static SmartInitializingSingleton holdfastReport(
            ListableBeanFactory beans, ConfigurableEnvironment environment, ResourceLoader resources) {
        return () -> report(beans, environment, resources.getClassLoader());
    }

    private static void report(
            ListableBeanFactory beans, ConfigurableEnvironment environment, @Nullable ClassLoader classes) {
        Optional<String> choice = StockTransport.choice(environment, classes);
        if (choice.isPresent()) {
            log.info("Holdfast serves nothing: {} is false", choice.get());
            return;
        }
        StockTransport.obstacle(environment, classes)
                .or(() -> ClassUtils.isPresent(SERVLET, classes)
                        ? new Transports(beans).told(environment)
                        : Optional.of("it is a servlet, and no servlet container is on the class path. Depend on"
                                + " spring-boot-starter-web in the place of spring-boot-starter-webflux"))
                .ifPresent(reason -> log.warn("Holdfast serves nothing: {}", reason));
    }

    /** The transports of an application. Loaded where there are servlets. */
    private record Transports(ListableBeanFactory beans) {
        /** Tells what is served; otherwise returns why nothing is. */
        private Optional<String> told(ConfigurableEnvironment environment) {
            if (!beans.containsBean("holdfastTransportSettings")) {
                return Optional.of("HoldfastAutoConfiguration is excluded. Do not exclude it");
            }
            for (String name : names(McpServerTransportProviderBase.class)) {
                Class<?> type = beans.getType(name);
                if (type != null && !HoldfastTransportProvider.class.isAssignableFrom(type)) {
                    return Optional.of("the application has a transport of its own, the bean " + name + " of type "
                            + type.getName() + ". Remove it, or make it a HoldfastTransportProvider");
                }
            }
            List<String> ours = names(HoldfastTransportProvider.class);
            warnOfDrain(environment);
            if (beans.containsBean("holdfastServlet")) {
                if (!beans.isTypeMatch("holdfastServlet", ServletRegistrationBean.class)) {
                    return Optional.of("the bean holdfastServlet is no ServletRegistrationBean. Give it another name");
                }
                log.info(
                        "Holdfast serves {}: {}",
                        served(beans.getBean("holdfastServlet", ServletRegistrationBean.class)),
                        kept());
                return Optional.empty();
            }
            return Optional.of(
                    ours.size() > 1
                            ? "none of the transports " + String.join(", ", ours)
                                    + " is @Primary. Mark the one to serve, and register the others yourself"
                            : "the application is no servlet web application. Set spring.main.web-application-type=servlet");
        }

        private List<String> names(Class<?> type) {
            return List.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false));
        }

        private void warnOfDrain(ConfigurableEnvironment environment) {
            Duration drain = beans.getBean(TransportSettings.class).drainTimeout();
            Duration phase = Binder.get(environment).bind(PHASE, Duration.class).orElse(SPRINGS_PHASE);
            if (drain.compareTo(phase) >= 0) {
                log.warn(
                        "holdfast.shutdown.drain-timeout is {}, but Spring stops waiting after {} while calls still run: set"
                                + " {} to more than {}",
                        Setting.simple(drain),
                        Setting.simple(phase),
                        PHASE,
                        Setting.simple(drain));
            }
        }

        private static String served(ServletRegistrationBean<?> servlet) {
            List<String> paths = servlet.getUrlMappings().stream()
                    .filter(path -> !path.endsWith("/")
                            || !servlet.getUrlMappings().contains(path.substring(0, path.length() - 1)))
                    .map(path -> path.isEmpty() ? "/" : path)
                    .toList();
            String first = paths.get(0) + " (Streamable HTTP)";
            return paths.size() == 1
                    ? first
                    : first + " and " + String.join(", ", paths.subList(1, paths.size())) + " (HTTP+SSE)";
        }

        private String kept() {
            TransportSettings settings = beans.getBean(TransportSettings.class);
            HoldfastTransportProvider transport = beans.getBean(HoldfastTransportProvider.class);
            if (!beans.containsBean("holdfastTransportProvider") || !beans.containsBean("holdfastSessionStore")) {
                return transport.engine().durability() == Durability.NOTHING
                        ? "sessions end with this process"
                        : "sessions survive this process";
            }
            HoldfastProperties.Store store =
                    beans.getBean(HoldfastProperties.class).store();
            String where = switch (store.type()) {
                case MEMORY -> "in memory, until this process ends";
                case ROCKSDB ->
                    "in RocksDB at " + store.rocksdb().folder().toAbsolutePath().normalize();
                case REDIS -> "in Redis under " + store.redis().prefix();
            };
            return "sessions " + where + ", grace "
                    + Setting.simple(settings.edge().lifetime().grace());
        }
    }

    /** The classes whose presence is asked for when the application starts: a native image knows them by name only if it is told so. */
    static final class LookedUp implements RuntimeHintsRegistrar {
        @Override
        public void registerHints(RuntimeHints hints, @Nullable ClassLoader classes) {
            Stream.of(
                            SERVLET,
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
