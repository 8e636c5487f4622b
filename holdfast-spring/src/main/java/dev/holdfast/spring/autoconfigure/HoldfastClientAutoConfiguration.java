package dev.holdfast.spring.autoconfigure;

import static dev.holdfast.spring.properties.Setting.turn;

import dev.holdfast.mcp.client.ClientListener;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.spring.client.ClientConnections;
import dev.holdfast.spring.client.ConnectionListener;
import dev.holdfast.spring.client.HoldfastClientCustomizer;
import dev.holdfast.spring.client.HoldfastClientProperties;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.InvalidPropertyException;
import dev.holdfast.spring.properties.UnknownProperties;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.customizer.McpAsyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.client.transport.customizer.McpSyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.json.McpJsonMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.springframework.ai.mcp.client.common.autoconfigure.NamedClientMcpTransport;
import org.springframework.ai.mcp.client.common.autoconfigure.properties.McpStreamableHttpClientProperties;
import org.springframework.ai.mcp.client.common.autoconfigure.properties.McpStreamableHttpClientProperties.ConnectionParameters;
import org.springframework.ai.mcp.customizer.McpClientCustomizer;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Makes a {@link HoldfastClientTransport} for each connection that {@code spring.ai.mcp.client.streamable-http} names. */
@AutoConfiguration(
        beforeName = "org.springframework.ai.mcp.client.common.autoconfigure.McpClientAutoConfiguration",
        afterName = {
            "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
            "org.springframework.boot.autoconfigure.jackson.JacksonAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass(value = HoldfastClientTransport.class, name = HoldfastClientAutoConfiguration.STOCK)
@Conditional(HoldfastClientAutoConfiguration.OnEnabled.class)
@ConditionalOnProperty(prefix = "spring.ai.mcp.client", name = "enabled", havingValue = "true", matchIfMissing = true)
@RegisterReflectionForBinding(HoldfastProperties.class) // whose names UnknownProperties reads
@EnableConfigurationProperties({HoldfastClientProperties.class, McpStreamableHttpClientProperties.class})
public final class HoldfastClientAutoConfiguration {
    /** The auto-configuration of Spring AI that makes a transport for each connection. */
    static final String STOCK =
            "org.springframework.ai.mcp.client.httpclient.autoconfigure.StreamableHttpHttpClientTransportAutoConfiguration";

    private static final String CUSTOMIZER_OF_2 = "org.springframework.ai.mcp.customizer.McpClientCustomizer";
    private static final String PREFIX = "holdfast.client.";

    /** Something is broken, and is being brought back or will be with the next message. */
    private static final String RECONNECTING = "RECONNECTING";

    HoldfastClientAutoConfiguration() {}

    /** Whether Holdfast comes where {@link StockTransport.Filter} has left Spring AI's transports out. */
    static final class OnEnabled extends SpringBootCondition {
        static boolean isEnabled(Environment environment) {
            return environment.getProperty(PREFIX + "enabled", Boolean.class, true);
        }

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            boolean enabled = isEnabled(context.getEnvironment());
            return new ConditionOutcome(
                    enabled,
                    ConditionMessage.forCondition("Holdfast").because("holdfast.client.enabled is " + enabled));
        }
    }

    @Bean
    @ConditionalOnMissingBean(name = UnknownProperties.BEAN, search = SearchStrategy.CURRENT)
    static BeanFactoryPostProcessor holdfastUnknownProperties(ConfigurableEnvironment environment) {
        return UnknownProperties.warning(environment);
    }

    @Bean(destroyMethod = "close")
    ClientConnections holdfastClientConnections(McpStreamableHttpClientProperties connections) {
        return new ClientConnections(connections.getConnections().keySet());
    }

    @Bean
    List<NamedClientMcpTransport> holdfastClientTransports(
            ClientConnections all,
            McpStreamableHttpClientProperties connections,
            HoldfastClientProperties properties,
            BeanFactory beans,
            ObjectProvider<ConnectionListener> listeners,
            ObjectProvider<HoldfastClientCustomizer> customizers) {
        McpJsonMapper json = SpringAi.clientMapper(beans);
        List<NamedClientMcpTransport> transports = new ArrayList<>();
        connections.getConnections().forEach((name, parameters) -> {
            HoldfastClientTransport.Builder transport = apply(properties, builder(name, parameters))
                    .jsonMapper(json)
                    .listener(all.listener(
                            name,
                            listeners
                                    .orderedStream()
                                    .map(listener -> listener.of(name))
                                    .toList()));
            customizers.orderedStream().forEach(customizer -> customizer.customize(name, transport));
            transports.add(new NamedClientMcpTransport(name, all.closing(transport.build())));
        });
        return transports;
    }

    private static HoldfastClientTransport.Builder builder(String name, ConnectionParameters parameters) {
        String url = parameters.url();
        String endpoint = parameters.endpoint();
        String property = McpStreamableHttpClientProperties.CONFIG_PREFIX + ".connections." + name;
        HoldfastClientTransport.Builder transport =
                turn(property + ".url", url == null ? "" : url, HoldfastClientTransport::builder);
        return endpoint == null ? transport : turn(property + ".endpoint", endpoint, transport::endpoint);
    }

    private static HoldfastClientTransport.Builder apply(
            HoldfastClientProperties from, HoldfastClientTransport.Builder transport) {
        turn(PREFIX + "patience", from.patience(), transport::patience);
        turn(PREFIX + "max-silence", from.maxSilence(), transport::maxSilence);
        turn(PREFIX + "max-in-flight", from.maxInFlight(), transport::maxInFlight);
        turn(
                PREFIX + "max-response-size",
                from.maxResponseSize(),
                size -> transport.maxResponseSize((int) Math.min(Integer.MAX_VALUE, size.toBytes())));
        return turn(PREFIX + "connect-timeout", from.connectTimeout(), transport::connectTimeout)
                .resumableStreams(from.resumableStreams())
                .protocol(from.protocol());
    }

    /**
     * The customizers that Spring AI 2 has for transports. One for its own transport stops the start: what that sets, perhaps
     * credentials, would be missing.
     */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = CUSTOMIZER_OF_2)
    static class CustomizersOfSpringAi2 {
        @Bean
        @Order(Ordered.HIGHEST_PRECEDENCE)
        HoldfastClientCustomizer holdfastClientCustomizers(
                ObjectProvider<McpClientCustomizer<HoldfastClientTransport.Builder>> customizers,
                ObjectProvider<McpClientCustomizer<HttpClientStreamableHttpTransport.Builder>> stock) {
            return (connection, transport) -> {
                if (stock.stream().findAny().isPresent()) {
                    throw new InvalidPropertyException(
                            PREFIX + "enabled",
                            true,
                            "a bean of type McpClientCustomizer<HttpClientStreamableHttpTransport.Builder> would change"
                                    + " nothing, because Holdfast has taken the place of that transport",
                            "Make it a McpClientCustomizer<HoldfastClientTransport.Builder>, which has the same methods, or"
                                    + " set holdfast.client.enabled=false.");
                }
                customizers.orderedStream().forEach(customizer -> customizer.customize(connection, transport));
            };
        }
    }

    /** Those of Spring AI 1.1 change requests, of Holdfast's transport as of its own; where there are both, the synchronous one wins. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnMissingClass(CUSTOMIZER_OF_2)
    static class CustomizersOfSpringAi1 {
        @Bean
        @Order(Ordered.HIGHEST_PRECEDENCE)
        HoldfastClientCustomizer holdfastClientCustomizers(
                ObjectProvider<McpAsyncHttpClientRequestCustomizer> asynchronous,
                ObjectProvider<McpSyncHttpClientRequestCustomizer> synchronous) {
            return (connection, transport) -> {
                asynchronous.ifUnique(transport::asyncHttpRequestCustomizer);
                synchronous.ifUnique(transport::httpRequestCustomizer);
            };
        }
    }

    /** The meters of the connections, each with the tag {@code connection}, where there is a registry for them. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterRegistry.class)
    @ConditionalOnBean(MeterRegistry.class)
    static class Meters {
        private static final String METERS = "holdfast.client.";
        private static final String CONNECTION = "connection";

        @Bean
        @ConditionalOnMissingBean(name = "holdfastClientMeters")
        ConnectionListener holdfastClientMeters(MeterRegistry registry, ClientConnections connections) {
            connections.all().forEach((name, connection) -> register(registry, name, connection));
            return name -> {
                Timer away = away(registry, name);
                return new ClientListener() {
                    @Override
                    public void onResumed(Duration lasted) {
                        away.record(lasted);
                    }
                };
            };
        }

        private static void register(MeterRegistry registry, String name, ClientConnections.Connection connection) {
            Gauge.builder(METERS + "connected", connection, it -> it.outage().isEmpty() ? 1 : 0)
                    .description("Whether nothing of the connection is known to be broken")
                    .tag(CONNECTION, name)
                    .register(registry);
            counter(
                    registry,
                    name,
                    "reconnects",
                    "Outages that have begun",
                    connection,
                    ClientConnections.Connection::reconnects);
            counter(
                    registry,
                    name,
                    "gaps",
                    "Times that notifications were missing, or may have been",
                    connection,
                    ClientConnections.Connection::gaps);
            counter(
                    registry,
                    name,
                    "sessions.replaced",
                    "Sessions that the server had lost",
                    connection,
                    ClientConnections.Connection::sessionsReplaced);
            away(registry, name);
        }

        private static void counter(
                MeterRegistry registry,
                String name,
                String what,
                String description,
                ClientConnections.Connection connection,
                ToDoubleFunction<ClientConnections.Connection> count) {
            FunctionCounter.builder(METERS + what, connection, count)
                    .description(description)
                    .tag(CONNECTION, name)
                    .register(registry);
        }

        /** How long outages lasted that are over; its count is that of the resumes. */
        private static Timer away(MeterRegistry registry, String name) {
            return Timer.builder(METERS + "away")
                    .description("Outages that are over")
                    .tag(CONNECTION, name)
                    .register(registry);
        }
    }

    /**
     * The health of each connection: up, or {@code RECONNECTING} while something of it is broken. That is a status of its own, which does
     * not make the application down unless {@code management.endpoint.health.status.order} names it: to restart the application would not
     * bring its server back.
     */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
    @ConditionalOnMissingBean(name = "holdfastClientHealthContributor")
    @ConditionalOnEnabledHealthIndicator("holdfast-client")
    static class HealthOfBoot4 {
        @Bean
        CompositeHealthContributor holdfastClientHealthContributor(ClientConnections connections) {
            return CompositeHealthContributor.fromMap(connections.all(), connection -> (HealthIndicator) () -> {
                Health.Builder health =
                        connection.outage().isEmpty() ? Health.up() : new Health.Builder().status(RECONNECTING);
                details(connection).forEach(health::withDetail);
                return health.build();
            });
        }
    }

    /** The same by the types of Spring Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({
        org.springframework.boot.actuate.health.HealthIndicator.class,
        org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator.class
    })
    @ConditionalOnMissingBean(name = "holdfastClientHealthContributor")
    @org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator("holdfast-client")
    static class HealthOfBoot3 {
        @Bean
        org.springframework.boot.actuate.health.CompositeHealthContributor holdfastClientHealthContributor(
                ClientConnections connections) {
            return org.springframework.boot.actuate.health.CompositeHealthContributor.fromMap(
                    connections.all(), connection -> (org.springframework.boot.actuate.health.HealthIndicator) () -> {
                        org.springframework.boot.actuate.health.Health.Builder health =
                                new org.springframework.boot.actuate.health.Health.Builder()
                                        .status(connection.outage().isEmpty() ? "UP" : RECONNECTING);
                        details(connection).forEach(health::withDetail);
                        return health.build();
                    });
        }
    }

    private static Map<String, Object> details(ClientConnections.Connection connection) {
        Map<String, Object> details = new LinkedHashMap<>();
        connection.outage().ifPresent(outage -> {
            details.put("since", outage.since().toString());
            details.put("cause", outage.cause().getClass().getName());
        });
        details.put("reconnects", connection.reconnects());
        details.put("gaps", connection.gaps());
        details.put("sessionsReplaced", connection.sessionsReplaced());
        return details;
    }
}
