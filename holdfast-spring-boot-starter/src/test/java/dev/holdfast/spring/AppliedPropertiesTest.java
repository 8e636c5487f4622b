package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.SessionState;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.mcp.HoldfastTransportProvider;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.ConfigurableApplicationContext;

/** What comes of the properties on the wire: one of each kind that the transport has its own builder method for. */
@Timeout(120)
class AppliedPropertiesTest {
    private static final int SESSIONS = 4;
    private static final String PING = "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}";

    private static ConfigurableApplicationContext application;
    private static int port;

    @BeforeAll
    static void start() {
        application = Applications.start(
                AiApplication.class,
                "--holdfast.mcp-endpoint=/own",
                "--holdfast.disallow-delete=true",
                "--holdfast.keep-alive-interval=200ms",
                "--holdfast.connection.heartbeat-interval=100ms",
                "--holdfast.request.max-size=2KB",
                "--holdfast.request.allowed-origins=https://app.example",
                "--holdfast.history.running-calls=1",
                "--holdfast.session.max-call-duration=8s",
                "--holdfast.node.max-sessions=" + SESSIONS);
        port = Applications.port(application);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    /** The next test finds the places of those that are not there any more. */
    @AfterEach
    void everybodyHasLeft() {
        await().until(() -> engine().sessions().noneMatch(each -> each.state() == SessionState.ATTACHED));
    }

    private static SessionEngine engine() {
        return application.getBean(HoldfastTransportProvider.class).engine();
    }

    @Test
    void theEndpointIsWhereItIsPutAndDeleteIsNotServed() throws Exception {
        assertThat(Wire.open(port, "/own").delete()).isEqualTo(405);
    }

    @Test
    void whoListensIsPingedAndHearsHeartbeats() throws Exception {
        HttpResponse<Stream<String>> listening = Wire.open(port, "/own").listen();
        Iterator<String> lines = listening.body().iterator();

        boolean pinged = false;
        boolean comments = false;
        while (!(pinged && comments)) {
            String line = lines.next();
            pinged |= line.contains("\"method\":\"ping\"");
            comments |= line.startsWith(":");
        }
        listening.body().close();
    }

    @Test
    void aBodyThatIsTooLongIsRefused() throws Exception {
        assertThat(Wire.open(port, "/own").post(" ".repeat(3_000) + PING).statusCode())
                .isEqualTo(413);
    }

    @Test
    void aPageOfAnotherOriginIsRefusedUnlessItIsAllowed() throws Exception {
        Wire client = Wire.open(port, "/own");

        assertThat(client.as("Origin", "https://app.example").post(PING).statusCode())
                .isEqualTo(200);
        assertThat(client.as("Origin", "https://other.example").post(PING).statusCode())
                .isEqualTo(403);
    }

    @Test
    void oneCallOfASessionRunsAtATimeAndNotForLong() throws Exception {
        Wire client = Wire.open(port, "/own");
        CompletableFuture<String> call = new CompletableFuture<>();
        new Thread(() -> {
                    try {
                        call.complete(client.call("slow", "{\"millis\":16000}"));
                    } catch (Exception e) {
                        call.completeExceptionally(e);
                    }
                })
                .start();
        await().until(() -> engine().stats().runningCalls() == 1);

        assertThat(client.post(PING).statusCode()).isEqualTo(429);

        assertThat(call.get(30, TimeUnit.SECONDS))
                .contains("\"error\"")
                .contains("8 s")
                .doesNotContain("slept");
    }

    @Test
    void noMoreSessionsAreOpenedThanThereMayBe() throws Exception {
        List<HttpResponse<Stream<String>>> listening = new ArrayList<>();
        for (int i = 0; i < SESSIONS; i++) {
            listening.add(Wire.open(port, "/own").listen());
        }

        assertThatThrownBy(() -> Wire.open(port, "/own")).hasMessageContaining("503");

        listening.forEach(each -> each.body().close());
    }
}
