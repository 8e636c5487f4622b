package dev.holdfast.spring.autoconfigure;

import dev.holdfast.CallListener;
import dev.holdfast.EngineStats;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.micrometer.HoldfastMetrics;
import dev.holdfast.micrometer.McpCallConvention;
import dev.holdfast.micrometer.ObservedCalls;
import dev.holdfast.servlet.console.ConsoleFeed;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spring.HoldfastCustomizer;
import dev.holdfast.spring.properties.TransportSettings;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnResource;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.orm.jpa.support.OpenEntityManagerInViewInterceptor;
import org.springframework.web.context.request.ServletWebRequest;
import org.springframework.web.context.request.async.WebAsyncUtils;
import org.springframework.web.filter.ServerHttpObservationFilter;
import org.springframework.web.filter.ShallowEtagHeaderFilter;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/**
 * What Holdfast gives to the rest of an application, and expects of it: filters of Spring, JPA, Spring MVC, Actuator and Micrometer. Each
 * is there where its library is.
 */
@AutoConfiguration(
        after = HoldfastAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
            "org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration"
        })
@ConditionalOnClass(HoldfastTransportProvider.class)
@ConditionalOnBean(HoldfastTransportProvider.class)
@ConditionalOnResource(resources = StockTransport.STARTER)
public final class HoldfastIntegrationAutoConfiguration {
    HoldfastIntegrationAutoConfiguration() {}

    /** Tells Spring's own filters what Spring MVC would tell them. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(ShallowEtagHeaderFilter.class)
    @ConditionalOnBean(name = "holdfastServlet")
    static class Filters {
        @Bean
        FilterRegistrationBean<ServletFilter> holdfastFilter(
                @Qualifier("holdfastServlet") Optional<ServletRegistrationBean<?>> servlet) {
            return ServletFilter.before(servlet, "holdfast", Filters::tell);
        }

        private static void tell(HttpServletRequest request, ServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            // what is written after the request's thread has returned would stay in the buffer of this filter
            ShallowEtagHeaderFilter.disableContentCaching(request);
            ServerHttpObservationFilter.findObservationContext(request)
                    .ifPresent(observed -> observed.setPathPattern(
                            request.getHttpServletMapping().getPattern()));
            chain.doFilter(request, response);
        }
    }

    /**
     * An open {@code EntityManager} for handlers that run on the threads of their requests, where {@code spring.jpa.open-in-view} has one
     * for those of Spring MVC.
     */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(OpenEntityManagerInViewInterceptor.class)
    @ConditionalOnBean(name = "holdfastServlet")
    @ConditionalOnSingleCandidate(OpenEntityManagerInViewInterceptor.class)
    static class OpenInView {
        @Bean
        FilterRegistrationBean<ServletFilter> holdfastOpenInView(
                @Qualifier("holdfastServlet") Optional<ServletRegistrationBean<?>> servlet,
                OpenEntityManagerInViewInterceptor interceptor,
                TransportSettings settings) {
            return ServletFilter.before(
                    servlet.filter(there -> settings.immediateExecution()),
                    "holdfastOpenInView",
                    (request, response, chain) -> open(interceptor, request, response, chain));
        }

        /** Such a handler has ended when the servlet returns, even if its answer is sent later. */
        private static void open(
                OpenEntityManagerInViewInterceptor interceptor,
                HttpServletRequest request,
                ServletResponse response,
                FilterChain chain)
                throws IOException, ServletException {
            if (!request.getMethod().equals("POST")) {
                chain.doFilter(request, response);
                return;
            }
            ServletWebRequest web = new ServletWebRequest(request);
            interceptor.preHandle(web);
            try {
                chain.doFilter(request, response);
            } finally {
                interceptor.afterCompletion(web, null);
                // the interceptor leaves it on the request, and the stream of the answer may last
                request.removeAttribute(WebAsyncUtils.WEB_ASYNC_MANAGER_ATTRIBUTE);
            }
        }
    }

    /** Names the interceptors of Spring MVC that an application may expect to see requests to its MCP server, which they do not. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(WebMvcConfigurer.class)
    static class Interceptors {
        private static final Logger log = LoggerFactory.getLogger(HoldfastIntegrationAutoConfiguration.class);

        /** It is called for Holdfast's requests too. */
        private static final String OPEN_IN_VIEW =
                "org.springframework.orm.jpa.support.OpenEntityManagerInViewInterceptor";

        @Bean
        SmartInitializingSingleton holdfastInterceptors(
                ObjectProvider<HoldfastTransportProvider> transports, ListableBeanFactory beans) {
            return () -> {
                List<String> paths = transports.stream()
                        .flatMap(transport -> transport.endpoints().stream())
                        .filter(path -> path.equals("/") || !path.endsWith("/"))
                        .toList();
                List<String> names = new ArrayList<>(known(beans, paths));
                if (beans.containsBean("holdfastOpenInView")) {
                    names.remove(OPEN_IN_VIEW);
                }
                if (!names.isEmpty()) {
                    log.warn(
                            "interceptors of Spring MVC do not run for {}, which is a servlet of its own: {}."
                                    + " What they check or set up for tools, a servlet filter has to."
                                    + " One that is not meant for tools excludes the path.",
                            String.join(", ", paths),
                            String.join(", ", names));
                }
            };
        }

        /** A failure to find them does not stop the application. */
        private static List<String> known(ListableBeanFactory beans, List<String> paths) {
            try {
                return RegisteredInterceptors.of(beans, paths);
            } catch (RuntimeException | LinkageError e) {
                log.debug("the interceptors of Spring MVC are not known", e);
                return List.of();
            }
        }
    }

    /** The endpoint {@code holdfast}, where Actuator is there and exposes it. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
    @ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
    @ConditionalOnAvailableEndpoint(HoldfastEndpoint.class)
    static class ActuatorEndpoint {
        @Bean
        @ConditionalOnMissingBean
        HoldfastEndpoint holdfastEndpoint(HoldfastTransportProvider transport) {
            return new HoldfastEndpoint(transport);
        }
    }

    /** The endpoint {@code holdfastconsole}, where it is exposed. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
    @ConditionalOnAvailableEndpoint(ConsoleEndpoint.class)
    static class ActuatorConsole {
        @Bean
        @ConditionalOnMissingBean
        ConsoleFeed holdfastConsoleFeed() {
            return new ConsoleFeed(InstantSource.system());
        }

        @Bean
        SessionLifecycleListener holdfastConsoleSessions(ConsoleFeed feed) {
            return feed.of("");
        }

        @Bean
        @ConditionalOnMissingBean
        @ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
        ConsoleEndpoint holdfastConsoleEndpoint(
                HoldfastTransportProvider transport,
                ConsoleFeed feed,
                @Value("${holdfast.node.name:node}") String node) {
            return new ConsoleEndpoint(transport, feed, node);
        }
    }

    /**
     * Up while sessions are served, out of service while the transport drains. A store that cannot write now is told as a detail,
     * {@code storeTrouble}, and does not make it down: to restart the node, or to take it away, would help nobody.
     */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
    @ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
    @ConditionalOnMissingBean(name = "holdfastHealthIndicator")
    @ConditionalOnEnabledHealthIndicator("holdfast")
    static class HealthOfBoot4 {
        @Bean
        HealthIndicator holdfastHealthIndicator(HoldfastTransportProvider transport) {
            return () -> (transport.engine().draining() ? new Health.Builder().outOfService() : Health.up())
                    .withDetails(health(transport))
                    .build();
        }
    }

    /** The same by the types of Spring Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({
        org.springframework.boot.actuate.health.HealthIndicator.class,
        org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator.class
    })
    @ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
    @ConditionalOnMissingBean(name = "holdfastHealthIndicator")
    @org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator("holdfast")
    static class HealthOfBoot3 {
        @Bean
        org.springframework.boot.actuate.health.HealthIndicator holdfastHealthIndicator(
                HoldfastTransportProvider transport) {
            return () -> (transport.engine().draining()
                            ? new org.springframework.boot.actuate.health.Health.Builder().outOfService()
                            : org.springframework.boot.actuate.health.Health.up())
                    .withDetails(health(transport))
                    .build();
        }
    }

    private static Map<String, Object> health(HoldfastTransportProvider transport) {
        SessionEngine engine = transport.engine();
        EngineStats stats = engine.stats();
        Map<String, Object> details = new LinkedHashMap<>();
        engine.storeTrouble().ifPresent(words -> details.put("storeTrouble", words));
        details.put("sessions", stats.sessions());
        details.put("parked", stats.parked());
        details.put("streams", transport.openConnections());
        details.put("runningCalls", stats.runningCalls());
        details.put("storeSurvives", engine.durability());
        details.put("mayWrite", engine.mayWrite());
        return details;
    }

    /** The meters of Holdfast, where there is a registry for them. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({MeterRegistry.class, HoldfastMetrics.class})
    @ConditionalOnBean(MeterRegistry.class)
    static class Meters {
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

    /** An observation of each call, and with it a span, where there is a registry for observations. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({ObservationRegistry.class, ObservedCalls.class})
    @ConditionalOnBean(ObservationRegistry.class)
    static class Observations {
        @Bean
        CallListener holdfastObservedCalls(ObservationRegistry registry, ObjectProvider<McpCallConvention> convention) {
            return new ObservedCalls(registry, convention.getIfUnique(McpCallConvention::new));
        }
    }
}
