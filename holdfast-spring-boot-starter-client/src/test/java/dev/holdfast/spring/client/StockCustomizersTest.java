package dev.holdfast.spring.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.ai.mcp.customizer.McpClientCustomizer;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** The customizers of transports that Spring AI 2 has. */
@Timeout(120)
class StockCustomizersTest {
    private static final List<String> CUSTOMIZED = new CopyOnWriteArrayList<>();
    private static final RestartableServer SERVER = new RestartableServer();

    @TestConfiguration(proxyBeanMethods = false)
    static class Customizing {
        @Bean
        McpClientCustomizer<HoldfastClientTransport.Builder> customizer() {
            return (connection, transport) -> CUSTOMIZED.add(connection);
        }
    }

    @TestConfiguration(proxyBeanMethods = false)
    static class CustomizingAnother {
        @Bean
        McpClientCustomizer<HttpClientStreamableHttpTransport.Builder> customizer() {
            return (connection, transport) -> CUSTOMIZED.add("another " + connection);
        }
    }

    @BeforeEach
    void forget() {
        CUSTOMIZED.clear();
    }

    @BeforeAll
    static void start() throws Exception {
        SERVER.start();
    }

    @AfterAll
    static void stop() throws Exception {
        SERVER.close();
    }

    @Test
    void customizersAreGivenTheBuilderOfEachConnection() {
        try (ConfigurableApplicationContext application = ClientApplication.start(SERVER, Customizing.class)) {
            assertThat(application.isRunning()).isTrue();
            assertThat(CUSTOMIZED).contains("weather");
        }
    }

    @Test
    void aCustomizerOfTheTransportThatIsNotUsedStopsTheStart() {
        assertThatThrownBy(() -> ClientApplication.start(SERVER, CustomizingAnother.class))
                .rootCause()
                .hasMessageContaining("HttpClientStreamableHttpTransport.Builder");
        assertThat(CUSTOMIZED).doesNotContain("another weather");
    }

    @Test
    void thatCustomizerStaysWhereNothingTakesThePlaceOfItsTransport() {
        SpringApplication application = new SpringApplication(ClientApplication.class, CustomizingAnother.class);
        application.setWebApplicationType(WebApplicationType.NONE);

        try (ConfigurableApplicationContext context = application.run(
                "--spring.ai.mcp.client.sse.connections.other.url=" + SERVER.url(),
                "--spring.ai.mcp.client.initialized=false")) {
            assertThat(context.isRunning()).isTrue();
        }
    }

    @Test
    void theyStayWhereHoldfastIsNotEnabled() {
        try (ConfigurableApplicationContext application =
                ClientApplication.start(SERVER, CustomizingAnother.class, "--holdfast.client.enabled=false")) {
            assertThat(application.isRunning()).isTrue();
            assertThat(CUSTOMIZED).containsOnly("another weather");
        }
    }
}
