package dev.holdfast.spring.properties;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.holdfast.NoStore;
import dev.holdfast.mcp.HoldfastTransportProvider;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.mock.env.MockEnvironment;

/** The properties of Spring AI stand in for those of Holdfast. */
class SpringAiSettingsTest {
    private static TransportSettings settings(String property, String value) {
        return settings(new MockEnvironment()
                .withProperty("spring.ai.mcp.server.protocol", "STREAMABLE")
                .withProperty("holdfast.sse.enabled", "true")
                .withProperty(property, value));
    }

    private static TransportSettings settings(MockEnvironment environment) {
        HoldfastProperties properties = Binder.get(environment).bindOrCreate("holdfast", HoldfastProperties.class);
        return TransportSettings.of(properties, Optional.of(new SpringAiServer(environment)));
    }

    @ParameterizedTest
    @CsvSource({"STREAMABLE, streamable-http.keep-alive-interval", "SSE, keep-alive-interval"})
    void pingsCanBeTurnedOffInTheWayOfHoldfast(String protocol, String name) {
        MockEnvironment environment = new MockEnvironment()
                .withProperty("spring.ai.mcp.server.protocol", protocol)
                .withProperty("spring.ai.mcp.server." + name, "0s");

        assertThat(settings(environment).keepAliveInterval()).isEmpty();
    }

    @Test
    void anIntervalOfPingsThatIsRefusedIsNamedAsItIsWritten() {
        InvalidPropertyException refused = assertThrows(
                InvalidPropertyException.class,
                () -> settings("spring.ai.mcp.server.streamable-http.keep-alive-interval", "-90s")
                        .apply(HoldfastTransportProvider.builder(), new NoStore()));

        assertThat(refused)
                .hasMessage("spring.ai.mcp.server.streamable-http.keep-alive-interval is -90s:"
                        + " keepAliveInterval must be 1 ms to 36,500 days");
    }

    @Test
    void aPathThatMeetsAnotherIsRefusedWithBothPropertiesAsTheyAreWritten() {
        MockEnvironment environment = new MockEnvironment()
                .withProperty("spring.ai.mcp.server.protocol", "SSE")
                .withProperty("spring.ai.mcp.server.sse-message-endpoint", "/messages")
                .withProperty("holdfast.sse.enabled", "true")
                .withProperty("holdfast.mcp-endpoint", "/api/messages");

        InvalidPropertyException refused = assertThrows(
                InvalidPropertyException.class,
                () -> settings(environment).apply(HoldfastTransportProvider.builder(), new NoStore()));

        assertThat(refused)
                .hasMessage("holdfast.mcp-endpoint is /api/messages: it and spring.ai.mcp.server.sse-message-endpoint,"
                        + " which is /messages, must not end with one another");
    }

    @ParameterizedTest
    @CsvSource({
        "streamable-http.mcp-endpoint, /{tenant}/mcp, between single '/'",
        "streamable-http.mcp-endpoint, '', between single '/'",
        "streamable-http.mcp-endpoint, /sse, 'it and holdfast.sse.endpoint, which is /sse, must not end with one another'",
        "sse-endpoint, /{tenant}/sse, between single '/'",
        "sse-message-endpoint, /sse, 'it and holdfast.sse.endpoint, which is /sse, must not end with one another'",
        "base-url, /a b, without blanks"
    })
    void aWrongValueIsRefusedInTheNameOfItsProperty(String name, String value, String range) {
        String property = "spring.ai.mcp.server." + name;

        InvalidPropertyException refused = assertThrows(
                InvalidPropertyException.class,
                () -> settings(property, value).apply(HoldfastTransportProvider.builder(), new NoStore()));

        assertThat(refused.property()).isEqualTo(property);
        assertThat(refused.value()).isEqualTo(value);
        assertThat(refused.reason()).contains(range);
    }
}
