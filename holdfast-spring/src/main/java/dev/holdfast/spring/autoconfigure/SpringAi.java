package dev.holdfast.spring.autoconfigure;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.modelcontextprotocol.json.McpJsonMapper;
import java.util.Optional;
import org.springframework.ai.mcp.server.common.autoconfigure.properties.McpServerSseProperties;
import org.springframework.ai.mcp.server.common.autoconfigure.properties.McpServerStreamableHttpProperties;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStreamableServerTransportProvider;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.ClassUtils;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.ServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * What is taken from Spring AI: its JSON mapper, or what the application put in its place; and what applications need of the
 * auto-configuration that {@link StockTransport.Filter} leaves out.
 */
final class SpringAi {
    /** The SDK's mapper on Jackson 3, which Spring AI 2 has. */
    static final String JACKSON_3 = "io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper";

    /** The SDK's mapper on Jackson 2, which Spring AI 1.1 has. */
    static final String JACKSON_2 = "io.modelcontextprotocol.json.jackson2.JacksonMcpJsonMapper";

    private static final String MAPPER = "mcpServerJsonMapper";
    private static final String MAPPER_OF_1 = "mcpServerObjectMapper";

    private SpringAi() {}

    /** The mapper of its servers. */
    static Optional<McpJsonMapper> serverMapper(BeanFactory beans) {
        if (isPresent(JACKSON_3) && beans.containsBean(MAPPER)) {
            return Optional.of(Jackson3.of(beans.getBean(MAPPER, JsonMapper.class)));
        }
        return isPresent(JACKSON_2) && beans.containsBean(MAPPER_OF_1)
                ? Optional.of(Jackson2.of(beans.getBean(MAPPER_OF_1, ObjectMapper.class)))
                : Optional.empty();
    }

    /** The mapper of its clients: the application's, or one with the defaults of Jackson. */
    static McpJsonMapper clientMapper(BeanFactory beans) {
        return isPresent(JACKSON_3) ? Jackson3.ofClients(beans) : Jackson2.ofClients(beans);
    }

    private static boolean isPresent(String type) {
        return ClassUtils.isPresent(type, SpringAi.class.getClassLoader());
    }

    /** Loaded where Jackson 3 and the SDK's module for it are there. */
    private static final class Jackson3 {
        private static McpJsonMapper of(JsonMapper mapper) {
            return new io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper(mapper);
        }

        private static McpJsonMapper ofClients(BeanFactory beans) {
            return of(beans.getBeanProvider(JsonMapper.class).getIfAvailable(JsonMapper::shared));
        }
    }

    /** Loaded where Jackson 2 and the SDK's module for it are there. */
    private static final class Jackson2 {
        private static McpJsonMapper of(ObjectMapper mapper) {
            return new io.modelcontextprotocol.json.jackson2.JacksonMcpJsonMapper(mapper);
        }

        private static McpJsonMapper ofClients(BeanFactory beans) {
            return of(beans.getBeanProvider(ObjectMapper.class).getIfAvailable(ObjectMapper::new));
        }
    }

    /** Properties of its transport over Streamable HTTP, as a bean that the application may ask for. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(McpServerStreamableHttpProperties.class)
    @EnableConfigurationProperties(McpServerStreamableHttpProperties.class)
    static class StreamableProperties {}

    /** The same over HTTP+SSE. */
    @SuppressWarnings("removal") // applications may ask for it as long as Spring AI has it
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(McpServerSseProperties.class)
    @EnableConfigurationProperties(McpServerSseProperties.class)
    static class SseProperties {}

    /** The endpoint of a transport that the application makes itself. Spring AI makes none for one over HTTP+SSE. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(WebMvcStreamableServerTransportProvider.class)
    @ConditionalOnBean(WebMvcStreamableServerTransportProvider.class)
    static class OwnTransport {
        @Bean
        @ConditionalOnMissingBean(name = "webMvcStreamableServerRouterFunction")
        RouterFunction<ServerResponse> webMvcStreamableServerRouterFunction(
                WebMvcStreamableServerTransportProvider transport) {
            return transport.getRouterFunction();
        }
    }

    /** The same for Spring AI 1.1, whose transport is the SDK's. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(io.modelcontextprotocol.server.transport.WebMvcStreamableServerTransportProvider.class)
    @ConditionalOnBean(io.modelcontextprotocol.server.transport.WebMvcStreamableServerTransportProvider.class)
    static class OwnTransportOf1 {
        @Bean
        @ConditionalOnMissingBean(name = "webMvcStreamableServerRouterFunction")
        RouterFunction<ServerResponse> webMvcStreamableServerRouterFunction(
                io.modelcontextprotocol.server.transport.WebMvcStreamableServerTransportProvider transport) {
            return transport.getRouterFunction();
        }
    }
}
