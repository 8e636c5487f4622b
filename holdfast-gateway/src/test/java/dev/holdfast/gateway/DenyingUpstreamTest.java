package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

/** A gateway in front of servers that have lost a session and say so in words of their own, or refuse for another reason. */
@Timeout(120)
class DenyingUpstreamTest {
    private final AtomicBoolean denies = new AtomicBoolean();

    /** How a server says that it has lost a session. */
    enum Denial {
        UNAUTHORIZED(true, 401, "text/plain", "Unauthorized: Session not found"),
        FORBIDDEN(true, 403, "text/plain", "no"),
        NOT_FOUND(true, 404, "text/plain", ""),
        GONE(true, 410, "text/plain", "gone"),
        UNPROCESSABLE(true, 422, "text/plain", "expect initialize request"),
        BAD_REQUEST(true, 400, "text/plain", "no valid session"),
        MOVED(true, 307, "text/plain", ""),
        FAILED(false, 500, "text/plain", "session not found"),
        EMPTY(false, 200, "text/plain", ""),
        LOGIN(false, 200, "text/html", "<p>Login</p>"),
        EVENTS(false, 200, "text/event-stream", ": nothing\n\n"),
        ERROR(
                false,
                200,
                "application/json",
                "{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32001,\"message\":\"Session not found\"}}");

        /** Whether it says for certain that the request was not executed. */
        private final boolean notExecuted;

        private final int status;
        private final String type;
        private final String body;

        Denial(boolean notExecuted, int status, String type, String body) {
            this.notExecuted = notExecuted;
            this.status = status;
            this.type = type;
            this.body = body;
        }

        private void answer(ScriptedUpstream.Asked asked) throws IOException {
            byte[] bytes = body.replace("ID", asked.id()).getBytes(UTF_8);
            asked.exchange().getResponseHeaders().set("Content-Type", type);
            asked.exchange().getResponseHeaders().set("WWW-Authenticate", "Bearer scope=\"tools\"");
            asked.exchange().sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
            if (bytes.length > 0) {
                asked.exchange().getResponseBody().write(bytes);
            }
            asked.exchange().close();
        }
    }

    private static TestGateway before(ScriptedUpstream upstream) {
        return TestGateway.before(upstream.url());
    }

    /** Denies everything in the first session, once it is told to. */
    private void deny(ScriptedUpstream upstream, Denial how, String... methods) {
        for (String method : methods) {
            upstream.on(method, asked -> {
                if (denies.get() && asked.header("Mcp-Session-Id").equals("session-1")) {
                    how.answer(asked);
                } else {
                    asked.result("done");
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void agentgateway3622_aSessionThatIsDeniedIsReplacedByOneInitialize(Denial how) {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream)) {
            deny(upstream, how, "tools/call", "ping");
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "tools/call")).contains("\"text\":\"done\"");
            denies.set(true);

            String answer = peer.call(2, "tools/call");

            assertThat(answer)
                    .contains(
                            how.notExecuted
                                    ? "\"text\":\"done\""
                                    : how == Denial.ERROR
                                            ? "Session not found"
                                            : "it is not known whether the upstream has executed the request");
            assertThat(upstream.asked("tools/call")).hasSize(how.notExecuted ? 3 : 2);
            assertThat(peer.call(3, "tools/call")).contains("\"text\":\"done\"");
            assertThat(upstream.asked("initialize")).hasSize(2);
            assertThat(upstream.asked("notifications/initialized"))
                    .extracting(asked -> asked.header("Mcp-Session-Id"))
                    .containsExactly("session-1", "session-2");
            assertThat(upstream.asked("DELETE"))
                    .noneMatch(asked -> asked.header("Mcp-Session-Id").equals("session-2"));
            assertThat(gateway.gateway.engine().stats().sessions()).isOne();
            assertThat(peer.delete().statusCode()).isEqualTo(200);
            Wait.until(
                    "the session at the upstream ends",
                    () -> upstream.asked("DELETE").stream()
                            .anyMatch(asked -> asked.header("Mcp-Session-Id").equals("session-2")));
        }
    }

    /** What is told of a loss may take its time: a call that comes meanwhile goes on in the session that is there. */
    @Test
    void agentgateway3622_aCallWhileALossIsToldOpensNoThirdSession() {
        CountDownLatch tells = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        Logger logger = (Logger) LoggerFactory.getLogger("dev.holdfast.session.Telemetry");
        UnsynchronizedAppenderBase<ILoggingEvent> slow = new UnsynchronizedAppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                if (event.getMessage().contains("the backend is gone")) {
                    tells.countDown();
                    Wait.until(goesOn);
                }
            }
        };
        slow.start();
        logger.addAppender(slow);
        logger.setLevel(Level.INFO);
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream)) {
            deny(upstream, Denial.FAILED, "tools/call", "ping");
            HttpPeer peer = HttpPeer.connected(gateway.url());
            denies.set(true);
            peer.call(2, "tools/call");
            Wait.until(tells);

            assertThat(peer.call(3, "tools/call")).contains("\"text\":\"done\"");

            assertThat(upstream.asked("initialize")).hasSize(2);
        } finally {
            goesOn.countDown();
            logger.setLevel(null);
            logger.detachAppender(slow);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"UNAUTHORIZED", "FORBIDDEN", "GONE", "UNPROCESSABLE", "BAD_REQUEST", "LOGIN"})
    void anUpstreamThatOpensNoOtherSessionIsBelievedAndTheSessionStays(Denial how) {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream)) {
            deny(upstream, how, "tools/call", "ping");
            HttpPeer peer = HttpPeer.connected(gateway.url());
            denies.set(true);
            upstream.on("initialize", how::answer);

            String answer = peer.call(2, "tools/call");

            assertThat(answer)
                    .contains(
                            how == Denial.LOGIN
                                    ? "it is not known whether the upstream has executed the request: the answer has status"
                                            + " 200 and the type 'text/html'"
                                    : "the upstream answered with HTTP status " + how.status
                                            + ", Bearer scope=\\\"tools\\\"")
                    .doesNotContain("<p>");
            assertThat(upstream.asked("initialize")).hasSize(2);
            assertThat(upstream.asked("tools/call").size()).isBetween(1, how == Denial.BAD_REQUEST ? 2 : 1);
            denies.set(false);
            assertThat(peer.call(3, "tools/call")).contains("\"text\":\"done\"");
            assertThat(upstream.asked("initialize")).hasSize(2);
        }
    }

    /** No status says that an upstream will never open a session again: a route comes back, a token is renewed. */
    @Test
    void agentgateway3622_aLostSessionWorksAgainOnceTheUpstreamOpensOne() {
        AtomicBoolean closed = new AtomicBoolean();
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream)) {
            deny(upstream, Denial.NOT_FOUND, "tools/call", "ping");
            upstream.on("initialize", asked -> {
                if (closed.get()) {
                    Denial.NOT_FOUND.answer(asked);
                } else {
                    upstream.welcome(asked);
                }
            });
            HttpPeer peer = HttpPeer.connected(gateway.url());
            denies.set(true);
            closed.set(true);
            for (int id = 2; id < 5; id++) {
                assertThat(peer.call(id, "tools/call")).contains("the upstream answered with HTTP status 404");
                assertThat(upstream.asked("initialize")).hasSize(id);
            }
            closed.set(false);
            assertThat(peer.call(5, "tools/call")).contains("\"text\":\"done\"");
        }
    }

    @Test
    void aRefusalOfOneToolLeavesTheSessionAlone() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream)) {
            deny(upstream, Denial.FORBIDDEN, "tools/call");
            HttpPeer peer = HttpPeer.connected(gateway.url());
            denies.set(true);
            for (int id = 2; id < 5; id++) {
                assertThat(peer.call(id, "tools/call")).contains("the upstream answered with HTTP status 403");
            }
            assertThat(upstream.asked("initialize")).hasSize(1);
        }
    }
}
