package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.ConfigurableApplicationContext;

/** Endpoints of every form that is taken are served. */
@Timeout(120)
class EndpointPathsTest {
    @ParameterizedTest
    @CsvSource({
        "/, '', /, /",
        "/, /app, /, /app/",
        "/, '', /api, /api/",
        "mcp, '', /, /mcp",
        "'/@tools/v1:mcp,$&''()!=+~', '', /, '/@tools/v1:mcp,$&''()!=+~'",
        "/mcp/, '', /, /mcp/",
        "/mcp/, '', /, /mcp",
        "/mcp, '', /, /mcp/",
        "mcp, '', /, /mcp/",
        "/mcp, /app, /, /app/mcp/",
        "/mcp, /app, /api, /app/api/mcp/",
        "'/@tools/v1:mcp,$&''()!=+~', /app, /, '/app/@tools/v1:mcp,$&''()!=+~/'"
    })
    void aToolIsCalled(String endpoint, String context, String mvc, String path) throws Exception {
        try (ConfigurableApplicationContext application = Applications.start(
                AiApplication.class,
                "--spring.ai.mcp.server.streamable-http.mcp-endpoint=" + endpoint,
                "--server.servlet.context-path=" + context,
                "--spring.mvc.servlet.path=" + mvc)) {
            assertThat(Wire.open(Applications.port(application), path).call("greet", "{\"name\":\"you\"}"))
                    .contains("hello you");
        }
    }
}
