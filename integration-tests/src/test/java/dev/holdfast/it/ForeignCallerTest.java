package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that a page in a browser could send: refused, with a line in the log that names the knob. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class ForeignCallerTest {
    private static final int INVALID_REQUEST = -32600;

    private final ContainerKind kind;

    ForeignCallerTest(ContainerKind kind) {
        this.kind = kind;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"evil.example", "evil.example:80", "localhost.evil.example", "169.254.1.1", "[2001:db8::1]:80"})
    void aForeignHostIsRefusedAndTheLogNamesTheKnob(String host) throws Exception {
        try (TestServer server = TestServer.in(kind).start();
                LogCapture log = new LogCapture()) {
            RawSession session = RawSession.open(server.port());
            for (RawRequest request : List.of(session.post(Json.echo("1", "hello")), session.get(), session.delete())) {
                Refusal.of(server.port(), request.with("Host", host)).assertIs(403, INVALID_REQUEST, "Host");
            }
            assertRefusedOnce(log, host, "allowedHosts", "--allowed-host", "holdfast.request.allowed-hosts");
            session.assertAlive();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://evil.example", "https://localhost.evil.example", "null", "evil", "file://"})
    void aForeignOriginIsRefusedAndTheLogNamesTheKnob(String origin) throws Exception {
        try (TestServer server = TestServer.in(kind).start();
                LogCapture log = new LogCapture()) {
            RawSession session = RawSession.open(server.port());
            for (RawRequest request : List.of(session.post(Json.echo("1", "hello")), session.get(), session.delete())) {
                Refusal.of(server.port(), request.with("Origin", origin)).assertIs(403, INVALID_REQUEST, "Origin");
            }
            assertRefusedOnce(log, origin, "allowedOrigins", "--allowed-origin", "holdfast.request.allowed-origins");
            session.assertAlive();
        }
    }

    private static void assertRefusedOnce(LogCapture log, String caller, String... knobs) {
        assertThat(log.lines())
                .filteredOn(line -> line.text().startsWith("refused"))
                .singleElement()
                .satisfies(line -> {
                    assertThat(line.level()).isEqualTo(Level.INFO);
                    assertThat(line.text()).contains(knobs).contains(caller);
                });
    }

    @Test
    void aPageOfThisMachineIsServed() throws Exception {
        try (TestServer server = TestServer.in(kind).start()) {
            RawSession session = RawSession.open(server.port());
            RawRequest echo = session.post(Json.notification("notifications/initialized", "{}"));
            for (String host : List.of("localhost", "127.0.0.1", "LOCALHOST:" + server.port(), "[::1]:8080")) {
                assertThat(session.status(echo.with("Host", host))).as(host).isEqualTo(202);
            }
            for (String origin : List.of("http://localhost:3000", "http://127.0.0.1", "https://localhost")) {
                assertThat(session.status(echo.with("Origin", origin)))
                        .as(origin)
                        .isEqualTo(202);
            }
        }
    }

    @Test
    void whatIsAllowedByNameIsServed() throws Exception {
        try (TestServer server = TestServer.in(kind)
                .options(options -> options.allowedHosts(List.of("mcp.example"))
                        .allowedOrigins(List.of("https://app.example", "http://dev.example:*")))
                .start()) {
            RawSession session = RawSession.open(server.port());
            RawRequest echo = session.post(Json.notification("notifications/initialized", "{}"));
            for (String host : List.of("mcp.example", "mcp.example:8443", "localhost")) {
                assertThat(session.status(echo.with("Host", host))).as(host).isEqualTo(202);
            }
            for (String origin : List.of("https://app.example", "http://dev.example:3000", "http://dev.example")) {
                assertThat(session.status(echo.with("Origin", origin)))
                        .as(origin)
                        .isEqualTo(202);
            }
            assertThat(session.status(echo.with("Host", "other.example"))).isEqualTo(403);
            assertThat(session.status(echo.with("Origin", "https://app.example:444")))
                    .isEqualTo(403);
        }
    }
}
