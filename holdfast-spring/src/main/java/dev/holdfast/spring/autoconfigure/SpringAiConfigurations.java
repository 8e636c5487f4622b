package dev.holdfast.spring.autoconfigure;

import org.springframework.ai.mcp.server.common.autoconfigure.properties.McpServerSseProperties;
import org.springframework.ai.mcp.server.common.autoconfigure.properties.McpServerStreamableHttpProperties;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStreamableServerTransportProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.ServerResponse;

/** What applications need of the auto-configuration of Spring AI that {@link StockTransportFilter} leaves out. */
final class SpringAiConfigurations {
    private SpringAiConfigurations() {}

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
