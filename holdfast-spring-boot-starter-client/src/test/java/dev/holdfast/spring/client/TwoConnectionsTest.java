package dev.holdfast.spring.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.ClientListener;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.ai.mcp.client.common.autoconfigure.McpClientAutoConfiguration.CloseableMcpAsyncClients;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** Asynchronous clients of two servers, of which one is down when the application starts. */
@Timeout(120)
@SuppressWarnings("deprecation") // calls are written as mcp-core 0.18 wants it, too
class TwoConnectionsTest {
    private static final Duration SOON = Duration.ofSeconds(20);
    private static final List<String> EVENTS = new CopyOnWriteArrayList<>();

    private final RestartableServer weather = new RestartableServer();
    private final RestartableServer traffic = new RestartableServer();

    @TestConfiguration(proxyBeanMethods = false)
    static class Listening {
        @Bean
        ConnectionListener listener() {
            return connection -> new ClientListener() {
                @Override
                public void onReconnecting(Throwable cause) {
                    EVENTS.add(connection + " reconnecting");
                }
            };
        }
    }

    @BeforeEach
    void start() throws Exception {
        EVENTS.clear();
        weather.start();
    }

    @AfterEach
    void stop() throws Exception {
        weather.close();
        traffic.close();
    }

    private ConfigurableApplicationContext application(boolean initialized) {
        String connection = "--spring.ai.mcp.client.streamable-http.connections.traffic.";
        return ClientApplication.start(
                weather,
                Listening.class,
                "--spring.ai.mcp.client.type=ASYNC",
                "--spring.ai.mcp.client.initialized=" + initialized,
                connection + "url=" + traffic.url(),
                connection + "endpoint=/tools");
    }

    private static CompletableFuture<String> greet(ConfigurableApplicationContext application, String connection) {
        McpAsyncClient client = application.getBean(CloseableMcpAsyncClients.class).clients().stream()
                .filter(each -> each.getClientInfo().name().endsWith(connection))
                .findFirst()
                .orElseThrow();
        return client.callTool(new CallToolRequest("greet", Map.of()))
                .map(result -> ((TextContent) result.content().get(0)).text())
                .toFuture();
    }

    private static double connected(ConfigurableApplicationContext application, String connection) {
        return ClientApplication.meter(application, "connected", connection)
                .gauge()
                .value();
    }

    private static void assertUp(ConfigurableApplicationContext application, String connection) {
        assertThat(connected(application, connection)).isEqualTo(1);
        assertThat(ClientApplication.health(application, connection)).isEqualTo("UP");
    }

    private static void assertDown(ConfigurableApplicationContext application, String connection) {
        assertThat(connected(application, connection)).isZero();
        assertThat(ClientApplication.health(application, connection)).isEqualTo("RECONNECTING");
    }

    @Test
    void anApplicationThatInitializesItsClientsStartsWhenTheLastServerIsThere() throws Exception {
        // not on the common pool: the JDK's HTTP client completes there, and it may have one thread
        CompletableFuture<ConfigurableApplicationContext> starting = new CompletableFuture<>();
        new Thread(() -> starting.completeAsync(() -> application(true), Runnable::run)).start();
        await().atMost(SOON).until(() -> EVENTS.contains("traffic reconnecting"));
        assertThat(starting).isNotDone();

        traffic.start();

        try (ConfigurableApplicationContext application = starting.get(20, TimeUnit.SECONDS)) {
            assertThat(greet(application, "weather").get(20, TimeUnit.SECONDS)).isEqualTo("hello");
            assertThat(greet(application, "traffic").get(20, TimeUnit.SECONDS)).isEqualTo("hello");
            assertUp(application, "weather");
            assertUp(application, "traffic");
        }
    }

    @Test
    void anApplicationThatDoesNotStartLeavesNoSessionBehind() {
        SpringApplication application = new SpringApplication(ClientApplication.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        String connections = "--spring.ai.mcp.client.streamable-http.connections.";

        assertThatThrownBy(() -> application.run(
                        connections + "weather.url=" + weather.url(),
                        connections + "weather.endpoint=/tools",
                        connections + "traffic.url=" + traffic.url(),
                        "--holdfast.client.patience=1s"))
                .hasMessageContaining("mcpSyncClients");

        assertThat(weather.stats().created()).isEqualTo(1);
        await().atMost(SOON).until(() -> weather.stats().sessions() == 0);
    }

    @Test
    void anApplicationThatDoesNotCallsTheOneServerWhileTheOtherIsAway() throws Exception {
        try (ConfigurableApplicationContext application = application(false)) {
            CompletableFuture<String> waits = greet(application, "traffic");
            await().atMost(SOON).untilAsserted(() -> assertDown(application, "traffic"));
            assertThat(greet(application, "weather").get(20, TimeUnit.SECONDS)).isEqualTo("hello");
            assertUp(application, "weather");
            assertThat(waits).isNotDone();

            traffic.start();

            assertThat(waits.get(20, TimeUnit.SECONDS)).isEqualTo("hello");
            await().atMost(SOON).untilAsserted(() -> assertUp(application, "traffic"));
            assertThat(traffic.calls).hasValue(1);
            assertThat(weather.calls).hasValue(1);

            weather.stop();
            await().atMost(SOON).untilAsserted(() -> assertDown(application, "weather"));
            assertUp(application, "traffic");
            weather.start();

            assertThat(greet(application, "weather").get(20, TimeUnit.SECONDS)).isEqualTo("hello");
            await().atMost(SOON).untilAsserted(() -> assertUp(application, "weather"));
        }
    }
}
