package dev.holdfast.spring.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.ai.mcp.customizer.McpClientCustomizer;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** What an application can set. */
@Timeout(60)
class ClientSettingsTest {
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
    void springAisTransportStaysWhereHoldfastIsNotEnabled() {
        try (ConfigurableApplicationContext application =
                ClientApplication.start(SERVER, CustomizingAnother.class, "--holdfast.client.enabled=false")) {
            assertThat(ClientApplication.transports(application, "streamableHttpHttpClientTransports"))
                    .singleElement()
                    .satisfies(named ->
                            assertThat(named.transport()).isInstanceOf(HttpClientStreamableHttpTransport.class));
        }
    }

    @Test
    void enabledIsWrittenAsSpringReadsIt() {
        try (ConfigurableApplicationContext application =
                ClientApplication.start(SERVER, "--holdfast.client.enabled=on")) {
            assertThat(ClientApplication.transports(application, "holdfastClientTransports"))
                    .singleElement()
                    .satisfies(named -> assertThat(named.transport()).isInstanceOf(HoldfastClientTransport.class));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "holdfast.client.patience, -1s",
        "holdfast.client.max-silence, -1s",
        "holdfast.client.max-in-flight, 0",
        "holdfast.client.max-response-size, 0",
        "spring.ai.mcp.client.streamable-http.connections.other.url, 127.0.0.1:9",
        "spring.ai.mcp.client.streamable-http.connections.other.url, localhost:9",
    })
    void aValueOutOfItsRangeStopsTheStartAndIsNamed(String property, String value) {
        assertThatThrownBy(() -> ClientApplication.start(SERVER, "--" + property + "=" + value))
                .rootCause()
                .isInstanceOfSatisfying(
                        InvalidConfigurationPropertyValueException.class,
                        refused -> assertThat(refused.getName()).isEqualTo(property));
    }
}
