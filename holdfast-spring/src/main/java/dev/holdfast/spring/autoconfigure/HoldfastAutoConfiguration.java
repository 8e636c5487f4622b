package dev.holdfast.spring.autoconfigure;

import dev.holdfast.CallListener;
import dev.holdfast.SessionLifecycleListener;
import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import dev.holdfast.servlet.Authenticator;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spring.HoldfastCustomizer;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.SpringAiServer;
import dev.holdfast.spring.properties.TransportSettings;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.server.McpTransportContextExtractor;
import io.modelcontextprotocol.spec.McpServerTransportProviderBase;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnResource;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.security.core.context.SecurityContextHolder;
import org.springframework.util.ClassUtils;
import org.springframework.web.filter.UrlHandlerFilter;

/**
 * Makes {@link HoldfastTransportProvider} the transport of the application's MCP server, and serves it. It backs off where the
 * application has a transport of its own. Where there are several, none is served unless one is primary; all are drained.
 *
 * <p>It is for applications with a starter for servers, which is there if {@link StockTransport#STARTER} is: one with a starter for
 * clients may have the SDK's adapter as a library.
 */
@AutoConfiguration(
        beforeName = {
            StockTransport.STREAMABLE,
            StockTransport.SSE,
            StockTransport.STREAMABLE_1,
            StockTransport.SSE_1,
            StockTransport.SERVER
        },
        afterName = {
            "org.springframework.ai.mcp.server.common.autoconfigure.McpServerJsonMapperAutoConfiguration",
            "org.springframework.ai.mcp.server.common.autoconfigure.McpServerObjectMapperAutoConfiguration"
        })
@ConditionalOnClass({HoldfastTransportProvider.class, HttpServlet.class, McpServerTransportProviderBase.class})
@ConditionalOnResource(resources = StockTransport.STARTER)
@Conditional(HoldfastAutoConfiguration.OnReplaceableTransport.class)
@EnableConfigurationProperties(HoldfastProperties.class)
@Import({
    SpringAi.StreamableProperties.class,
    SpringAi.SseProperties.class,
    SpringAi.OwnTransport.class,
    SpringAi.OwnTransportOf1.class,
    StoreConfiguration.class
})
public final class HoldfastAutoConfiguration {
    private static final Logger log = LoggerFactory.getLogger(HoldfastAutoConfiguration.class);

    /** A class of Spring MVC in Spring Boot 4. */
    static final String MVC = "org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath";

    /** The same in Spring Boot 3. */
    static final String MVC_3 = "org.springframework.boot.autoconfigure.web.servlet.DispatcherServletPath";

    HoldfastAutoConfiguration() {}

    /** Whether there is a place for Holdfast: a transport it replaces, or a server of the plain SDK that needs one. */
    static final class OnReplaceableTransport extends SpringBootCondition {
        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            Environment environment = context.getEnvironment();
            ClassLoader classes = context.getClassLoader();
            ConditionMessage.Builder message = ConditionMessage.forCondition("Holdfast");
            return switch (StockTransport.of(environment, classes)) {
                case NONE -> ConditionOutcome.match(message.because("there is no MCP server of Spring AI"));
                case REPLACED -> ConditionOutcome.match(message.because("it takes the place of Spring AI's transport"));
                case KEPT ->
                    ConditionOutcome.noMatch(message.because(StockTransport.choice(environment, classes)
                            .map(property -> property + " is false")
                            .or(() -> StockTransport.obstacle(environment, classes))
                            .orElse("")));
            };
        }
    }

    /** The caller, where Spring Security knows it. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(SecurityContextHolder.class)
    static class Security {
        @Bean
        @ConditionalOnMissingBean(Authenticator.class)
        Authenticator holdfastAuthenticator() {
            return new SpringSecurityAuthenticator();
        }
    }

    @Bean
    TransportSettings holdfastTransportSettings(
            HoldfastProperties properties, Environment environment, ResourceLoader resources) {
        boolean springAi = StockTransport.of(environment, resources.getClassLoader()) == StockTransport.REPLACED;
        return TransportSettings.of(
                properties, springAi ? Optional.of(new SpringAiServer(environment)) : Optional.empty());
    }

    @Bean(destroyMethod = "destroy")
    @ConditionalOnMissingBean(McpServerTransportProviderBase.class)
    HoldfastTransportProvider holdfastTransportProvider(
            TransportSettings settings,
            SessionStore store,
            BeanFactory beans,
            ObjectProvider<McpJsonMapper> mapper,
            ObjectProvider<Authenticator> authenticator,
            ObjectProvider<McpTransportContextExtractor<HttpServletRequest>> extractor,
            ObjectProvider<SessionLifecycleListener> listeners,
            ObjectProvider<CallListener> calls,
            ObjectProvider<HoldfastCustomizer> customizers) {
        HoldfastTransportProviderBuilder transport = settings.apply(HoldfastTransportProvider.builder(), store)
                .sessionLifecycleListener(
                        SessionLifecycleListener.all(listeners.orderedStream().toList()))
                .callListener(CallListener.all(calls.orderedStream().toList()));
        mapper.ifUnique(transport::jsonMapper);
        if (mapper.getIfUnique() == null) {
            SpringAi.serverMapper(beans).ifPresent(transport::jsonMapper);
        }
        // where it is not clear which one is meant, the start fails: without one, everybody would be let in
        authenticator.ifAvailable(transport::authenticator);
        extractor.ifAvailable(transport::contextExtractor);
        customizers.orderedStream().forEach(customizer -> customizer.customize(transport));
        if (settings.onlySseAskedFor()) {
            log.warn(
                    "Streamable HTTP is served at {} beside HTTP+SSE: rules for the paths of HTTP+SSE do not cover it."
                            + " holdfast.mcp-endpoint names its path, and ends this warning",
                    settings.mcpEndpoint().value());
        }
        return transport.build();
    }

    /** Drains the transports of this context: those of a parent live on when it is closed. */
    @Bean
    @ConditionalOnBean(value = HoldfastTransportProvider.class, search = SearchStrategy.CURRENT)
    HoldfastDrain holdfastDrain(ListableBeanFactory beans, TransportSettings settings) {
        return new HoldfastDrain(
                beans.getBeansOfType(HoldfastTransportProvider.class).values().stream()
                        .map(HoldfastTransportProvider::engine)
                        .toList(),
                settings.drainTimeout());
    }

    @Bean
    @ConditionalOnSingleCandidate(HoldfastTransportProvider.class)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    @ConditionalOnMissingBean(name = "holdfastServlet")
    ServletRegistrationBean<HoldfastTransportProvider> holdfastServlet(
            HoldfastTransportProvider transport, BeanFactory beans) {
        ServletRegistrationBean<HoldfastTransportProvider> servlet =
                new ServletRegistrationBean<>(transport, patterns(transport.endpoints(), beans));
        servlet.setName("holdfast");
        servlet.setAsyncSupported(true);
        return servlet;
    }

    /**
     * Takes the slash off the end of a path before any filter sees it: a rule of Spring Security for the path of an endpoint holds for the
     * path with a slash, which is served too.
     */
    @Bean
    @ConditionalOnBean(HoldfastTransportProvider.class)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    FilterRegistrationBean<Filter> holdfastTrailingSlash(
            ObjectProvider<HoldfastTransportProvider> transports, BeanFactory beans) {
        List<String> endpoints = transports.stream()
                .flatMap(transport -> transport.endpoints().stream())
                .filter(path -> path.length() > 1 && path.endsWith("/"))
                .toList();
        String[] paths = patterns(endpoints, beans);
        FilterRegistrationBean<Filter> filter = new FilterRegistrationBean<>(
                UrlHandlerFilter.trailingSlashHandler("/**").wrapRequest().build());
        filter.addUrlPatterns(paths);
        filter.setEnabled(paths.length > 0);
        filter.setOrder(Ordered.HIGHEST_PRECEDENCE);
        return filter;
    }

    /** Patterns for these endpoints and no others, under the path of Spring MVC, where Spring AI's own are; that of the root is empty. */
    private static String[] patterns(List<String> endpoints, BeanFactory beans) {
        ClassLoader classes = HoldfastAutoConfiguration.class.getClassLoader();
        UnaryOperator<String> path = endpoint -> endpoint.startsWith("/") ? endpoint : "/" + endpoint;
        if (ClassUtils.isPresent(MVC, classes)) {
            path = Mvc.paths(beans);
        } else if (ClassUtils.isPresent(MVC_3, classes)) {
            path = MvcOfBoot3.paths(beans);
        }
        return endpoints.stream()
                .map(path)
                .map(pattern -> pattern.equals("/") ? "" : pattern)
                .toArray(String[]::new);
    }

    /** Loaded where Spring MVC is there. */
    private static final class Mvc {
        private static UnaryOperator<String> paths(BeanFactory beans) {
            return beans.getBeanProvider(DispatcherServletPath.class).getIfAvailable(() -> () -> "/")::getRelativePath;
        }
    }

    /** The same for Spring Boot 3. */
    private static final class MvcOfBoot3 {
        private static UnaryOperator<String> paths(BeanFactory beans) {
            return beans.getBeanProvider(org.springframework.boot.autoconfigure.web.servlet.DispatcherServletPath.class)
                    .getIfAvailable(() -> () -> "/")::getRelativePath;
        }
    }
}
