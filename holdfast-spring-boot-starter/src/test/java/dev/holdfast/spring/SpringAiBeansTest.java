package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import io.modelcontextprotocol.common.McpTransportContext;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.ai.mcp.server.webmvc.transport.WebMvcStreamableServerTransportProvider;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** What applications do with the beans of Spring AI's transport goes on. */
@Timeout(60)
class SpringAiBeansTest {
    @TestConfiguration(proxyBeanMethods = false)
    @Import(AiApplication.class)
    static class OwnTransport {
        @Bean
        WebMvcStreamableServerTransportProvider transport() {
            return WebMvcStreamableServerTransportProvider.builder()
                    .mcpEndpoint("/own")
                    .contextExtractor(request -> McpTransportContext.create(Map.of("from", "the application")))
                    .build();
        }
    }

    @Test
    void aTransportOfTheApplicationsOwnHasItsEndpoint() throws Exception {
        try (ConfigurableApplicationContext application = Applications.start(OwnTransport.class)) {
            assertThat(application.getBeanNamesForType(HoldfastTransportProvider.class))
                    .isEmpty();
            assertThat(Wire.open(Applications.port(application), "/own").call("greet", "{\"name\":\"you\"}"))
                    .contains("hello you");
        }
    }
}
