package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.ConfigurableApplicationContext;

/** Where clients of HTTP+SSE are told to POST to. */
@Timeout(120)
class HttpSseBaseTest {
    private static ConfigurableApplicationContext start(boolean holdfast, String... properties) {
        return Applications.start(
                AiApplication.class,
                Stream.concat(
                                Stream.of(
                                        "--spring.ai.mcp.server.protocol=SSE",
                                        "--holdfast.enabled=" + holdfast,
                                        // Spring AI's streams would hold the end of their server up
                                        "--server.shutdown=immediate",
                                        "--holdfast.sse.enabled=true"),
                                Stream.of(properties))
                        .toArray(String[]::new));
    }

    /** What the event {@code endpoint} says, without the session's id. */
    private static String endpoint(ConfigurableApplicationContext application, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://localhost:" + Applications.port(application) + path))
                .header("Accept", "text/event-stream")
                .build();
        try (Stream<String> lines = HttpClient.newHttpClient()
                .send(request, HttpResponse.BodyHandlers.ofLines())
                .body()) {
            return lines.filter(line -> line.startsWith("data:"))
                    .findFirst()
                    .orElseThrow()
                    .replaceAll("data: ?|\\?.*", "");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "'', '', https://mcp.example/tools, https://mcp.example/tools/mcp/message",
        "/app, '', /app, /app/mcp/message",
        "/app, /api, /app/api/, /app/api/mcp/message",
    })
    void theBaseOfSpringAiGivesItsEndpoint(String context, String mvc, String base, String expected) throws Exception {
        String[] properties = {
            "--server.servlet.context-path=" + context,
            "--spring.mvc.servlet.path=" + (mvc.isEmpty() ? "/" : mvc),
            "--spring.ai.mcp.server.base-url=" + base
        };

        try (ConfigurableApplicationContext stock = start(false, properties);
                ConfigurableApplicationContext holdfast = start(true, properties)) {
            assertThat(endpoint(holdfast, context + mvc + "/sse"))
                    .isEqualTo(endpoint(stock, context + mvc + "/sse"))
                    .isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @CsvSource({"'', '', /mcp/message", "/app, '', /app/mcp/message", "/app, /api, /app/api/mcp/message"})
    void withoutABaseTheEndpointIsBesideTheStream(String context, String mvc, String expected) throws Exception {
        try (ConfigurableApplicationContext holdfast = start(
                true,
                "--server.servlet.context-path=" + context,
                "--spring.mvc.servlet.path=" + (mvc.isEmpty() ? "/" : mvc))) {
            assertThat(endpoint(holdfast, context + mvc + "/sse")).isEqualTo(expected);
        }
    }
}
