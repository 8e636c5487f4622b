package dev.holdfast.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class UpstreamBackendBuilderTest {
    private final UpstreamBackendBuilder builder = UpstreamBackend.builder(URI.create("http://127.0.0.1:1/mcp"));

    @ParameterizedTest
    @ValueSource(strings = {"ftp://a/mcp", "http:/mcp", "/mcp", "https://a/mcp#here"})
    void anUrlThatIsNoEndpointIsRefused(String url) {
        assertThatThrownBy(() -> UpstreamBackend.builder(URI.create(url)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("url must be as in https://mcp.example/mcp, got " + url);
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://u:p@a/mcp", "http://u:p@my_host/mcp", "http://u:p@host:x/"})
    void aPasswordInTheUrlIsRefusedAndNotRepeated(String url) {
        assertThatThrownBy(() -> UpstreamBackend.builder(URI.create(url)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("url must be as in https://mcp.example/mcp, got one with a user or a password");
    }

    @Test
    void aTimeOutOfItsRangeIsRefusedWithTheRange() {
        assertThatThrownBy(() -> builder.openTimeout(Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("openTimeout must be PT0.001S to PT1H, got PT0S");
        assertThatThrownBy(() -> builder.patience(Duration.ofDays(2))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.maxSilence(Duration.ofSeconds(-1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.maxResponseSize(0)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Host", "mcp-session-id", "", "a b", "Connection"})
    void aHeaderThatIsNotTheClientsOwnIsNotForwarded(String name) {
        assertThatThrownBy(() -> ForwardedHeaders.named(name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("forwarded must be a header that is the client's own, such as Authorization, got "
                        + (name.isEmpty() ? "empty" : name));
    }

    @Test
    void aHeaderIsNamedOnceHoweverItIsWritten() {
        assertThat(ForwardedHeaders.named("X-Of", "authorization", "x-of", "Authorization")
                        .names())
                .containsExactly("authorization", "X-Of");
        assertThat(ForwardedHeaders.named().names()).isEmpty();
    }

    @Test
    void aClientThatFollowsRedirectsIsRefused() {
        HttpClient following =
                HttpClient.newBuilder().followRedirects(Redirect.NORMAL).build();

        assertThatThrownBy(() -> UpstreamHttp.jdk(following)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void callsAreRunAgainOnlyWhereNoHeaderIsForwarded() {
        try (UpstreamBackend plain = builder.open();
                UpstreamBackend forwarding =
                        builder.forward(ForwardedHeaders.named("Authorization")).open()) {
            assertThat(plain.needsContext()).isFalse();
            assertThat(forwarding.needsContext()).isTrue();
            assertThat(plain.existsOnce() && forwarding.existsOnce()).isTrue();
        }
    }

    @Test
    void closingEndsTheClockOfItsOwnAndNoOther() {
        ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
        try {
            builder.scheduler(clock).open().close();

            assertThat(clock.isShutdown()).isFalse();
        } finally {
            clock.shutdownNow();
        }
    }

    @Test
    void closingLeavesNoThread() throws InterruptedException {
        UpstreamBackend backend = builder.http(UpstreamHttp.jetty()).open();
        Thread[] own = threads();
        assertThat(own).isNotEmpty();

        backend.close();

        for (Thread thread : own) {
            thread.join(Duration.ofSeconds(10).toMillis());
            assertThat(thread.isAlive()).as(thread.getName()).isFalse();
        }
    }

    private static Thread[] threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-upstream"))
                .toArray(Thread[]::new);
    }
}
