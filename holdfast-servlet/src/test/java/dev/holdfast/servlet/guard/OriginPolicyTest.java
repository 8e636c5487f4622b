package dev.holdfast.servlet.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Refusal;
import jakarta.servlet.http.HttpServletRequest;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OriginPolicyTest {
    private static final OriginPolicy NOTHING_LISTED = new OriginPolicy(List.of(), List.of());

    /** A request with these headers, to a loopback address or another one. */
    private static HttpServletRequest asked(Map<String, String> headers, boolean toLoopback) {
        InvocationHandler request = (proxy, method, args) -> switch (method.getName()) {
            case "getHeader" -> headers.get(args[0]);
            case "getHeaders" -> Collections.enumeration(List.of(headers.get(args[0])));
            case "getProtocol" -> "HTTP/1.1";
            case "getLocalAddr" -> toLoopback ? "127.0.0.1" : "192.0.2.7";
            default -> throw new IllegalStateException(method.getName());
        };
        return (HttpServletRequest) Proxy.newProxyInstance(
                HttpServletRequest.class.getClassLoader(), new Class<?>[] {HttpServletRequest.class}, request);
    }

    private static Optional<Refusal> atHome(OriginPolicy policy, String host) {
        return refusal(policy, asked(Map.of("Host", host), true));
    }

    private static Optional<Refusal> outside(OriginPolicy policy, String host) {
        return refusal(policy, asked(Map.of("Host", host), false));
    }

    private static Optional<Refusal> atHome(OriginPolicy policy, String host, String origin) {
        return refusal(policy, asked(Map.of("Host", host, "Origin", origin), true));
    }

    private static Optional<Refusal> outside(OriginPolicy policy, String host, String origin) {
        return refusal(policy, asked(Map.of("Host", host, "Origin", origin), false));
    }

    private static Optional<Refusal> refusal(OriginPolicy policy, HttpServletRequest request) {
        return policy.check(request).map(Rejection::refusal);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost",
                "LOCALHOST:8080",
                "localhost.",
                "127.0.0.1:1",
                "127.8.9.10",
                "[::1]",
                "[::1]:8080",
                "[0:0:0:0:0:0:0:1]",
                "[::ffff:127.0.0.1]:80",
            })
    void aLoopbackAddressIsReachedByEveryLoopbackName(String host) {
        assertThat(atHome(NOTHING_LISTED, host)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "evil.example",
                "localhost.evil.example",
                "localhost..",
                "localhost@evil.example",
                "evil.example@localhost",
                "user:pass@localhost:80",
                "localhost:",
                "localhost:port",
                "localhost:123456",
                "localhost,evil.example",
                "localhost evil.example",
                "localhost/evil.example",
                "192.168.0.7",
                "0.0.0.0",
                "0.0.0.0:8080",
                "127.1",
                "127.0.0.01",
                "127.0.0.256",
                "2130706433",
                "[::]",
                "[::1",
                "::1",
                "[::1]x",
                "[localhost]",
                "[fe80::1]",
            })
    void aLoopbackAddressIsReachedByNoOtherName(String host) {
        assertThat(atHome(NOTHING_LISTED, host)).contains(Refusal.HOST);
    }

    @ParameterizedTest
    @ValueSource(strings = {"192.168.0.7", "192.168.0.7:8080", "[2001:db8::1]:80", "10.0.0.1", "127.0.0.1"})
    void anotherAddressIsReachedByEveryAddress(String host) {
        assertThat(outside(NOTHING_LISTED, host)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "mcp.example",
                "localhost",
                "rebound.example:8080",
                "192.168.0.7.",
                "3232235527",
                "[x]",
                "1.2.3"
            })
    void anotherAddressIsReachedByNoNameThatNobodyListed(String host) {
        assertThat(outside(NOTHING_LISTED, host)).contains(Refusal.HOST);
    }

    @Test
    void aListedNameIsAHostOfEveryAddress() {
        OriginPolicy listed = new OriginPolicy(List.of("MCP.example", "port.example:8443", "any.example:*"), List.of());

        for (String host : List.of(
                "mcp.example",
                "Mcp.Example:99",
                "mcp.example.",
                "mcp.example.:80",
                "port.example:8443",
                "any.example:7")) {
            assertThat(outside(listed, host)).as(host).isEmpty();
            assertThat(atHome(listed, host)).as(host).isEmpty();
        }
        for (String host : List.of(
                "other.example",
                "port.example",
                "port.example:443",
                "x.mcp.example",
                "mcp.example.evil",
                "mcp.example@evil")) {
            assertThat(outside(listed, host)).as(host).contains(Refusal.HOST);
            assertThat(atHome(listed, host)).as(host).contains(Refusal.HOST);
        }
    }

    @Test
    void anAsteriskListsEveryHost() {
        OriginPolicy any = new OriginPolicy(List.of("*"), List.of());

        assertThat(outside(any, "whatever.example:1")).isEmpty();
        assertThat(atHome(any, "")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "192.168.0.7:8080, http://192.168.0.7:8080",
        "192.168.0.7, http://192.168.0.7",
        "192.168.0.7:80, http://192.168.0.7",
        "192.168.0.7:443, https://192.168.0.7",
        "192.168.0.7, https://192.168.0.7",
        "192.168.0.7:8443, https://192.168.0.7:8443",
        "[2001:db8::1]:80, http://[2001:DB8:0::1]",
    })
    void theServersOwnPagesAreServed(String host, String origin) {
        assertThat(outside(NOTHING_LISTED, host, origin)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://localhost",
                "http://localhost:3000",
                "https://127.0.0.1:8443",
                "http://[::1]:5173",
                "HTTP://LOCALHOST:1",
            })
    void pagesOfThisMachineAreServedOnALoopbackAddressOnly(String origin) {
        assertThat(atHome(NOTHING_LISTED, "localhost:8080", origin)).isEmpty();
        assertThat(outside(NOTHING_LISTED, "192.168.0.7:8080", origin)).contains(Refusal.ORIGIN);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "",
                "http://",
                "file://",
                "localhost",
                "http://evil.example",
                "http://localhost.evil.example",
                "http://evil.example@localhost",
                "http://localhost@evil.example",
                "http://localhost/",
                "http://localhost/evil",
                "http://localhost:8080 http://evil.example",
                "http://localhost, http://evil.example",
                "ftp://localhost",
                "chrome-extension://localhost",
                "http:localhost",
                "//localhost",
                "http://192.168.0.7:8081",
            })
    void noOtherPageIsServed(String origin) {
        assertThat(atHome(NOTHING_LISTED, "localhost:8080", origin)).contains(Refusal.ORIGIN);
        assertThat(outside(NOTHING_LISTED, "192.168.0.7:8080", origin))
                .as("outside")
                .contains(Refusal.ORIGIN);
    }

    @Test
    void listedOriginsAreServed() {
        OriginPolicy listed = new OriginPolicy(
                List.of(),
                List.of(
                        "https://App.example",
                        "http://dev.example:*",
                        "http://p.example:80",
                        "null",
                        "app://obsidian.md"));

        for (String origin : List.of(
                "https://app.example",
                "HTTPS://APP.EXAMPLE",
                "https://app.example:443",
                "http://dev.example",
                "http://dev.example:3000",
                "http://p.example",
                "null",
                "app://obsidian.md")) {
            assertThat(atHome(listed, "localhost", origin)).as(origin).isEmpty();
            assertThat(outside(listed, "10.0.0.1", origin)).as(origin).isEmpty();
        }
        for (String origin : List.of(
                "http://app.example",
                "https://app.example:444",
                "https://app.example.evil",
                "https://x.app.example",
                "http://dev.example:",
                "http://dev.example:3000:1",
                "http://dev.example.evil:3000",
                "http://dev.example:x")) {
            assertThat(atHome(listed, "localhost", origin)).as(origin).contains(Refusal.ORIGIN);
        }
    }

    @Test
    void anAsteriskListsEveryOrigin() {
        OriginPolicy any = new OriginPolicy(List.of(), List.of("*"));

        assertThat(atHome(any, "localhost", "null")).isEmpty();
        assertThat(outside(any, "10.0.0.1", "https://whatever.example")).isEmpty();
        assertThat(outside(any, "rebound.example", "https://whatever.example")).contains(Refusal.HOST);
    }

    @ParameterizedTest
    @CsvSource({
        "127.0.0.1, true",
        "127.5.6.7, true",
        "::1, true",
        "0:0:0:0:0:0:0:1, true",
        "0:0:0:0:0:0:0:1%lo, true",
        "[::1], true",
        "::ffff:127.0.0.1, true",
        "192.168.0.7, false",
        "::, false",
        "fe80::1%eth0, false",
    })
    void aLoopbackAddressIsKnownInEverySpelling(String address, boolean loopback) {
        assertThat(Authority.loopbackAddress(address)).isEqualTo(loopback);
    }
}
