package dev.holdfast.spring.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.client.ClientListener;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
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
import org.springframework.ai.mcp.customizer.McpClientCustomizer;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** The starter on the class path of an application with a client of Spring AI, and nothing else. */
@Timeout(120)
@SuppressWarnings("deprecation") // calls are written as mcp-core 0.18 wants it, too
class SpringAiClientTest {
    private static final Duration SOON = Duration.ofSeconds(20);
    private static final List<String> EVENTS = new CopyOnWriteArrayList<>();

    private final RestartableServer server = new RestartableServer();
    private ConfigurableApplicationContext application;
    private McpSyncClient client;

    @TestConfiguration(proxyBeanMethods = false)
    static class Listening {
        @Bean
        ConnectionListener listener() {
            return connection -> new ClientListener() {
                @Override
                public void onSessionReplaced() {
                    EVENTS.add(connection + " replaced");
                }
            };
        }

        @Bean
        McpClientCustomizer<McpClient.SyncSpec> hearing() {
            return (connection, client) ->
                    client.loggingConsumer(message -> EVENTS.add(connection + " " + message.data()));
        }
    }

    @BeforeEach
    void start() throws Exception {
        EVENTS.clear();
        server.start();
        application = ClientApplication.start(server, Listening.class);
        client = ClientApplication.client(application);
    }

    @AfterEach
    void stop() throws Exception {
        application.close();
        server.close();
    }

    private String call(String tool) {
        CallToolRequest request = new CallToolRequest(tool, Map.of());
        return ((TextContent) client.callTool(request).content().get(0)).text();
    }

    private double counted(String meter) {
        return ClientApplication.meter(application, meter, "weather")
                .functionCounter()
                .count();
    }

    private String health() {
        return ClientApplication.health(application, "weather");
    }

    @Test
    void itsTransportIsReplaced() {
        assertThat(ClientApplication.transports(application, "holdfastClientTransports"))
                .singleElement()
                .satisfies(named -> {
                    assertThat(named.name()).isEqualTo("weather");
                    assertThat(named.transport()).isInstanceOf(HoldfastClientTransport.class);
                });
        assertThat(application.containsBean("streamableHttpHttpClientTransports"))
                .isFalse();
        assertThat(call("greet")).isEqualTo("hello");
        assertThat(health()).isEqualTo("UP");
    }

    @Test
    void aServerThatWasStartedAgainIsCalledInAnotherSession() throws Exception {
        assertThat(call("greet")).isEqualTo("hello");

        server.stop();
        await().atMost(SOON).until(() -> health().equals("RECONNECTING"));
        server.start();

        assertThat(call("greet")).isEqualTo("hello");
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(counted("sessions.replaced")).isEqualTo(1));
        assertThat(EVENTS).containsExactly("weather replaced");
        await().atMost(SOON).until(() -> health().equals("UP"));
    }

    @Test
    void aCallIsAnsweredThoughItsConnectionIsCut() throws Exception {
        CompletableFuture<String> call = CompletableFuture.supplyAsync(() -> call("slow"));
        // the client knows that it runs: nobody could say so of a call whose response has not begun
        await().atMost(SOON).until(() -> EVENTS.contains("weather begun"));

        server.cut();
        await().atMost(SOON).until(() -> counted("reconnects") > 0);
        server.released.countDown();

        assertThat(call.get(20, TimeUnit.SECONDS)).isEqualTo("slept");
        assertThat(server.calls).hasValue(1);
        await().atMost(SOON).until(() -> health().equals("UP"));
        assertThat(ClientApplication.meter(application, "away", "weather")
                        .timer()
                        .count())
                .isBetween(1L, 2L); // its two connections are cut one after the other
        assertThat(counted("sessions.replaced")).isZero();
    }

    @Test
    void aListeningStreamThatIsNotResumedIsCountedAsAGap() {
        application.close();
        application = ClientApplication.start(server, Listening.class, "--holdfast.client.resumable-streams=false");
        client = ClientApplication.client(application);
        assertThat(call("greet")).isEqualTo("hello");
        assertThat(counted("gaps")).isZero();

        // the first cut may come before the stream is open
        await().atMost(SOON).pollInterval(Duration.ofSeconds(1)).until(() -> {
            server.cut();
            return counted("gaps") > 0;
        });

        assertThat(call("greet")).isEqualTo("hello");
        await().atMost(SOON).until(() -> health().equals("UP"));
        assertThat(counted("sessions.replaced")).isZero();
    }
}
