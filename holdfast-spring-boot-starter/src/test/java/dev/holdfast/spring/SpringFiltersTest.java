package dev.holdfast.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.ShallowEtagHeaderFilter;
import reactor.core.publisher.Mono;

/** Holdfast behind filters of Spring's that look at how Spring MVC handles a request. */
@Timeout(120)
class SpringFiltersTest {
    private static final String INITIALIZE =
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
                    + "\"capabilities\":{},\"clientInfo\":{\"name\":\"raw\",\"version\":\"1\"}}}";

    @TestConfiguration(proxyBeanMethods = false)
    @Import({AiApplication.class, Later.class})
    static class Tagged {
        @Bean
        ShallowEtagHeaderFilter etags() {
            return new ShallowEtagHeaderFilter();
        }
    }

    /** A tool of an asynchronous server. */
    @Component
    static class Later {
        @McpTool(name = "later", description = "Answers a little later")
        Mono<String> later() {
            return Mono.delay(Duration.ofMillis(300)).map(zero -> "now");
        }
    }

    @Test
    void anAnswerToABodyThatComesLateIsNotHeldBack() throws Exception {
        try (ConfigurableApplicationContext application = Applications.start(Tagged.class);
                Socket socket = new Socket("localhost", Applications.port(application))) {
            OutputStream out = socket.getOutputStream();
            out.write(
                    ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                                    + "Accept: application/json, text/event-stream\r\nContent-Length: "
                                    + INITIALIZE.length()
                                    + "\r\n\r\n")
                            .getBytes(UTF_8));
            out.flush();
            TimeUnit.MILLISECONDS.sleep(300);
            out.write(INITIALIZE.getBytes(UTF_8));
            out.flush();

            assertThat(new String(socket.getInputStream().readAllBytes(), UTF_8))
                    .contains("\"serverInfo\"");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SYNC", "ASYNC"})
    void aResultIsNotHeldBack(String type) throws Exception {
        try (ConfigurableApplicationContext application =
                Applications.start(Tagged.class, "--spring.ai.mcp.server.type=" + type)) {
            Wire client = Wire.open(Applications.port(application), "/mcp");

            assertThat(type.equals("SYNC") ? client.call("slow", "{\"millis\":300}") : client.call("later", "{}"))
                    .containsAnyOf("slept 300", "\"now\"");
        }
    }
}
