package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.net.httpserver.HttpServer;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpTransportException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** A server that wants credentials, as the client of each version of the SDK hears of it. */
@Tag("sdk")
@Timeout(30)
class SdkAuthorizationTest {
    private static final String TRANSPORT = "io.modelcontextprotocol.client.transport.";

    private final AtomicInteger requests = new AtomicInteger();
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private HttpServer server;

    @BeforeEach
    void start() throws Exception {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            requests.incrementAndGet();
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(401, -1);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private static boolean has(String type) {
        try {
            Class.forName(TRANSPORT + type);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private HoldfastClientTransport.Builder builder() {
        return HoldfastClientTransport.builder(
                "http://127.0.0.1:" + server.getAddress().getPort());
    }

    private Throwable failure(HoldfastClientTransport.Builder builder) {
        McpAsyncClient client = McpClient.async(builder.build()).build();
        Throwable failure = catchThrowable(() -> client.initialize().block(Duration.ofSeconds(20)));
        client.closeGracefully().block(Duration.ofSeconds(20));
        Throwable cause = failure;
        while (cause.getCause() != null && !(cause instanceof McpTransportException)) {
            cause = cause.getCause();
        }
        return cause;
    }

    /** The first time it does. */
    private Publisher<Boolean> again(String who) {
        asked.add(who);
        return Mono.just(asked.size() < 2);
    }

    /** In classes of their own, that are loaded where the SDK has the types. */
    private static final class OfRequest {
        static void on(HoldfastClientTransport.Builder builder, SdkAuthorizationTest test) {
            builder.authorizationErrorHandler(
                    (request, response, context) -> test.again(request.method() + " " + response.statusCode()));
        }
    }

    private static final class OfResponse {
        @SuppressWarnings({"deprecation", "removal"})
        static void on(HoldfastClientTransport.Builder builder, SdkAuthorizationTest test) {
            builder.httpAuthorizationErrorHandler((response, context) -> test.again("" + response.statusCode()));
        }
    }

    @Test
    void theExceptionIsTheSdksWhereItHasOne() {
        Throwable failure = failure(builder());

        assertThat(failure).isInstanceOf(McpTransportException.class).hasMessageContaining("credentials: status 401");
        assertThat(failure.getClass().getSimpleName())
                .isEqualTo(
                        has("McpHttpClientTransportAuthorizationException")
                                ? "McpHttpClientTransportAuthorizationException"
                                : "McpTransportException");
    }

    @Test
    void aHandlerIsAskedWhetherToTryAgain() {
        if (has("customizer.McpHttpClientTransportAuthorizationErrorHandler")) {
            HoldfastClientTransport.Builder asking = builder();
            OfRequest.on(asking, this);
            assertAsked(asking, "POST 401");
        }
        if (has("customizer.McpHttpClientAuthorizationErrorHandler")) {
            HoldfastClientTransport.Builder asking = builder();
            OfResponse.on(asking, this);
            assertAsked(asking, "401");
        }
    }

    private void assertAsked(HoldfastClientTransport.Builder asking, String expected) {
        asked.clear();
        requests.set(0);
        failure(asking);
        assertThat(asked).isNotEmpty().containsOnly(expected);
        assertThat(requests).hasValueGreaterThan(1);
    }
}
