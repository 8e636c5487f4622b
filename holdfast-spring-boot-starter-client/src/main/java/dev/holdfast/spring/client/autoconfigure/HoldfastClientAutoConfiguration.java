package dev.holdfast.spring.client.autoconfigure;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.spring.client.ClientConnections;
import dev.holdfast.spring.client.ConnectionListener;
import dev.holdfast.spring.client.HoldfastClientProperties;
import dev.holdfast.spring.client.ToldListeners;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper;
import java.util.ArrayList;
import java.util.List;
import org.springframework.ai.mcp.client.common.autoconfigure.NamedClientMcpTransport;
import org.springframework.ai.mcp.client.common.autoconfigure.properties.McpClientCommonProperties;
import org.springframework.ai.mcp.client.common.autoconfigure.properties.McpStreamableHttpClientProperties;
import org.springframework.ai.mcp.client.common.autoconfigure.properties.McpStreamableHttpClientProperties.ConnectionParameters;
import org.springframework.ai.mcp.customizer.McpClientCustomizer;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import tools.jackson.databind.json.JsonMapper;

/** Makes a {@link HoldfastClientTransport} for each connection that {@code spring.ai.mcp.client.streamable-http} names. */
@AutoConfiguration(
        beforeName = "org.springframework.ai.mcp.client.common.autoconfigure.McpClientAutoConfiguration",
        afterName = "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration")
@ConditionalOnClass(name = StockClientTransport.STREAMABLE)
@Conditional(OnEnabled.class)
@ConditionalOnProperty(
        prefix = McpClientCommonProperties.CONFIG_PREFIX,
        name = "enabled",
        havingValue = "true",
        matchIfMissing = true)
@EnableConfigurationProperties({HoldfastClientProperties.class, McpStreamableHttpClientProperties.class})
public final class HoldfastClientAutoConfiguration {
    HoldfastClientAutoConfiguration() {}

    @Bean
    ClientConnections holdfastClientConnections(McpStreamableHttpClientProperties connections) {
        return new ClientConnections(connections.getConnections().keySet());
    }

    @Bean
    BuiltTransports holdfastBuiltTransports() {
        return new BuiltTransports();
    }

    @Bean
    List<NamedClientMcpTransport> holdfastClientTransports(
            BuiltTransports built,
            McpStreamableHttpClientProperties connections,
            HoldfastClientProperties properties,
            ObjectProvider<JsonMapper> mapper,
            ObjectProvider<ConnectionListener> listeners,
            ObjectProvider<McpClientCustomizer<HoldfastClientTransport.Builder>> customizers,
            ObjectProvider<McpClientCustomizer<HttpClientStreamableHttpTransport.Builder>> stock) {
        if (!connections.getConnections().isEmpty() && stock.stream().findAny().isPresent()) {
            throw new StockCustomizerException();
        }
        JacksonMcpJsonMapper json = new JacksonMcpJsonMapper(mapper.getIfAvailable(JsonMapper::shared));
        List<NamedClientMcpTransport> transports = new ArrayList<>();
        connections.getConnections().forEach((name, parameters) -> {
            HoldfastClientTransport.Builder transport = ClientKnobs.apply(properties, builder(name, parameters))
                    .jsonMapper(json)
                    .listener(new ToldListeners(listeners
                            .orderedStream()
                            .map(listener -> listener.of(name))
                            .toList()));
            customizers.orderedStream().forEach(customizer -> customizer.customize(name, transport));
            transports.add(new NamedClientMcpTransport(name, built.add(transport.build())));
        });
        return transports;
    }

    private static HoldfastClientTransport.Builder builder(String name, ConnectionParameters parameters) {
        String url = parameters.url();
        String endpoint = parameters.endpoint();
        String property = McpStreamableHttpClientProperties.CONFIG_PREFIX + ".connections." + name;
        HoldfastClientTransport.Builder transport =
                ClientKnobs.turn(property + ".url", url == null ? "" : url, HoldfastClientTransport::builder);
        return endpoint == null ? transport : ClientKnobs.turn(property + ".endpoint", endpoint, transport::endpoint);
    }
}
