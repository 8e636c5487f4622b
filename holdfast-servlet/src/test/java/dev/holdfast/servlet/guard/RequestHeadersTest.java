package dev.holdfast.servlet.guard;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.servlet.http.HttpServletRequest;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which host a request calls, whatever the version of HTTP says it by. */
class RequestHeadersTest {
    /** A request of which a container tells no more than the answers to some questions; no answer is null. */
    private static HttpServletRequest request(Map<String, Object> answers) {
        Object request = Proxy.newProxyInstance(
                HttpServletRequest.class.getClassLoader(),
                new Class<?>[] {HttpServletRequest.class},
                (proxy, method, args) -> answer(answers, method.getName()));
        return (HttpServletRequest) request;
    }

    private static @Nullable Object answer(Map<String, Object> answers, String question) {
        return question.equals("getHeaders")
                ? Collections.enumeration(List.of(answers.getOrDefault("getHeader", "")))
                : answers.get(question);
    }

    private static HttpServletRequest of(String protocol, String scheme, String name, int port) {
        return request(
                Map.of("getProtocol", protocol, "getScheme", scheme, "getServerName", name, "getServerPort", port));
    }

    @ParameterizedTest
    @CsvSource({
        "HTTP/2.0, http, mcp.example, 8080, mcp.example:8080",
        "HTTP/2.0, https, mcp.example, 443, mcp.example",
        "HTTP/2.0, http, mcp.example, 80, mcp.example",
        "HTTP/2.0, https, mcp.example, 80, mcp.example:80",
        "HTTP/2.0, http, [::1], 8080, [::1]:8080",
        "HTTP/2.0, http, ::1, 8080, [::1]:8080",
        "HTTP/2.0, http, mcp.example, -1, mcp.example",
        "HTTP/2.0, http, '', 8080, ''",
        "HTTP/3.0, https, mcp.example, 8443, mcp.example:8443"
    })
    void withoutAHostHeaderTheAuthorityOfTheRequestIsItsHost(
            String protocol, String scheme, String name, int port, String host) {
        assertThat(RequestHeaders.host(of(protocol, scheme, name, port))).isEqualTo(host);
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP/1.1", "HTTP/1.0", "HTTP/0.9"})
    void beforeHttp2ARequestWithoutAHostHeaderHasNoHost(String protocol) {
        assertThat(RequestHeaders.host(of(protocol, "http", "localhost", 8080))).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP/1.1", "HTTP/2.0"})
    void aHostHeaderIsTakenAsItIs(String protocol) {
        Map<String, Object> answers = Map.of(
                "getProtocol", protocol, "getHeader", " mcp.example ", "getServerName", "other", "getServerPort", 1);
        assertThat(RequestHeaders.host(request(answers))).isEqualTo("mcp.example");
    }

    @ParameterizedTest
    @CsvSource({"HTTP/2.0, true", "HTTP/3.0, true", "HTTP/1.1, false", "HTTP/1.0, false"})
    void fromHttp2OnAConnectionCarriesManyRequestsAtOnce(String protocol, boolean multiplexed) {
        assertThat(RequestHeaders.multiplexed(of(protocol, "http", "localhost", 8080)))
                .isEqualTo(multiplexed);
    }
}
