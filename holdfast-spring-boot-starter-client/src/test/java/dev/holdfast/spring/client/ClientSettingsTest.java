package dev.holdfast.spring.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.mcp.client.ClientListener;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.spring.properties.HoldfastProperties;
import dev.holdfast.spring.properties.InvalidPropertyException;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** What an application can set. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class ClientSettingsTest {
    private static final List<String> CUSTOMIZED = new CopyOnWriteArrayList<>();
    private static final RestartableServer SERVER = new RestartableServer();

    @TestConfiguration(proxyBeanMethods = false)
    static class Customizing {
        @Bean
        HoldfastClientCustomizer customizer() {
            return (connection, transport) -> CUSTOMIZED.add(connection);
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
    void aListenerThatFailsIsToldWithTheNameOfItsConnection(CapturedOutput output) {
        ClientListener failing = new ClientListener() {
            @Override
            public void onGap() {
                throw new IllegalStateException("by the test");
            }
        };

        new ClientConnections(List.of("weather"))
                .listener("weather", List.of(failing))
                .onGap();

        assertThat(output).contains("a listener of the connection weather failed", "by the test");
    }

    @Test
    void theNamesOfTheServersPropertiesAreReadWithoutTheServersModules() throws Exception {
        String server = ".*/holdfast-(core|cluster|modern|servlet|mcp-sdk)[/-].*";
        List<URL> client = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            URL url = new File(entry).toURI().toURL();
            if (!url.getPath().matches(server)) {
                client.add(url);
            }
        }
        try (URLClassLoader loader =
                new URLClassLoader(client.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            assertThatThrownBy(() -> loader.loadClass("dev.holdfast.servlet.EdgeOptions"))
                    .isInstanceOf(ClassNotFoundException.class);
            assertThat(loader.loadClass(HoldfastProperties.class.getName()).getRecordComponents())
                    .isNotEmpty();
        }
    }

    @Test
    void springAisTransportStaysWhereHoldfastIsNotEnabled() {
        try (ConfigurableApplicationContext application =
                ClientApplication.start(SERVER, "--holdfast.client.enabled=false")) {
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
                        InvalidPropertyException.class,
                        refused -> assertThat(refused.property()).isEqualTo(property));
    }

    @Test
    void aPropertyThatIsNoneIsToldWithTheNearestAlsoWhereTheStartFails(CapturedOutput output) {
        assertThatThrownBy(() -> ClientApplication.start(
                        SERVER,
                        "--holdfast.client.patiense=1m",
                        "--holdfast.clinet.max-silence=1s",
                        "--holdfast.client.connect-timeout=5s",
                        "--holdfast.session.idle-timeout=1m",
                        "--spring.ai.mcp.client.streamable-http.connections.other.url=localhost:9"))
                .rootCause()
                .isInstanceOf(InvalidPropertyException.class);

        String told = " is no property of Holdfast and has no effect: do you mean ";
        assertThat(output)
                .contains("holdfast.client.patiense" + told + "holdfast.client.patience?")
                .contains("holdfast.clinet.max-silence" + told + "holdfast.client.max-silence?")
                .doesNotContain("connect-timeout" + told, "idle-timeout" + told);
    }
}
