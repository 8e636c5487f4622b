package dev.holdfast.spring.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.modelcontextprotocol.client.transport.customizer.McpAsyncHttpClientRequestCustomizer;
import io.modelcontextprotocol.client.transport.customizer.McpSyncHttpClientRequestCustomizer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import reactor.core.publisher.Mono;

/** The customizers of requests that Spring AI 1.1 takes: without them credentials would be missing. */
@Timeout(120)
class RequestCustomizersTest {
    private static final List<String> CUSTOMIZED = new CopyOnWriteArrayList<>();

    @TestConfiguration(proxyBeanMethods = false)
    static class Asynchronous {
        @Bean
        McpAsyncHttpClientRequestCustomizer asynchronous() {
            return (builder, method, uri, body, context) -> {
                CUSTOMIZED.add("asynchronous");
                return Mono.just(builder);
            };
        }
    }

    @TestConfiguration(proxyBeanMethods = false)
    static class Both extends Asynchronous {
        @Bean
        McpSyncHttpClientRequestCustomizer synchronous() {
            return (builder, method, uri, body, context) -> CUSTOMIZED.add("synchronous");
        }
    }

    @BeforeEach
    void forget() {
        CUSTOMIZED.clear();
    }

    private static void start(Class<?> configuration) throws Exception {
        try (RestartableServer server = new RestartableServer().start();
                ConfigurableApplicationContext application = ClientApplication.start(server, configuration)) {
            assertThat(application.isRunning()).isTrue();
        }
    }

    @Test
    void aRequestIsChangedByTheOneThatIsThere() throws Exception {
        start(Asynchronous.class);
        assertThat(CUSTOMIZED).isNotEmpty().containsOnly("asynchronous");
    }

    @Test
    void theSynchronousOneIsUsedWhereThereAreBoth() throws Exception {
        start(Both.class);
        assertThat(CUSTOMIZED).isNotEmpty().containsOnly("synchronous");
    }
}
