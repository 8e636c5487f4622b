package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.common.McpTransportContext;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.ai.mcp.server.common.autoconfigure.properties.McpServerSseProperties;
import org.springframework.ai.mcp.server.common.autoconfigure.properties.McpServerStreamableHttpProperties;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStreamableServerTransportProvider;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** What applications do with the beans of Spring AI's transport goes on. */
@Timeout(120)
class SpringAiBeansTest {
    @TestConfiguration(proxyBeanMethods = false)
    @Import(AiApplication.class)
    static class OwnTransport {
        @Bean
        WebMvcStreamableServerTransportProvider transport(McpServerStreamableHttpProperties properties) {
            return WebMvcStreamableServerTransportProvider.builder()
                    .mcpEndpoint(properties.getMcpEndpoint())
                    .contextExtractor(request -> McpTransportContext.create(Map.of("from", "the application")))
                    .build();
        }
    }

    @TestConfiguration(proxyBeanMethods = false)
    @Import(AiApplication.class)
    static class AsksForProperties {
        @Bean
        String endpoint(McpServerStreamableHttpProperties properties) {
            return properties.getMcpEndpoint();
        }
    }

    @SuppressWarnings("removal") // applications have it as long as Spring AI does
    @TestConfiguration(proxyBeanMethods = false)
    @Import(AiApplication.class)
    static class AsksForSseProperties {
        @Bean
        String endpoint(McpServerSseProperties properties) {
            return properties.getSseMessageEndpoint();
        }
    }

    @Test
    void aTransportOfTheApplicationsOwnHasItsEndpoint() throws Exception {
        try (ConfigurableApplicationContext application =
                Applications.start(OwnTransport.class, "--spring.ai.mcp.server.streamable-http.mcp-endpoint=/own")) {
            assertThat(application.getBeanNamesForType(HoldfastTransportProvider.class))
                    .isEmpty();
            assertThat(Wire.open(Applications.port(application), "/own").call("greet", "{\"name\":\"you\"}"))
                    .contains("hello you");
        }
    }

    @Test
    void thePropertiesOfItsTransportAreThere() {
        try (ConfigurableApplicationContext application = Applications.start(
                AsksForProperties.class, "--spring.ai.mcp.server.streamable-http.mcp-endpoint=/tools/mcp")) {
            assertThat(application.getBean("endpoint")).isEqualTo("/tools/mcp");
            assertThat(application.getBeanNamesForType(HoldfastTransportProvider.class))
                    .hasSize(1);
        }
    }

    @Test
    void thePropertiesOfItsTransportOverSseAreThere() {
        try (ConfigurableApplicationContext application = Applications.start(
                AsksForSseProperties.class,
                "--spring.ai.mcp.server.protocol=SSE",
                "--spring.ai.mcp.server.sse-message-endpoint=/in",
                "--holdfast.sse.enabled=true")) {
            assertThat(application.getBean("endpoint")).isEqualTo("/in");
            assertThat(application.getBeanNamesForType(HoldfastTransportProvider.class))
                    .hasSize(1);
        }
    }
}
