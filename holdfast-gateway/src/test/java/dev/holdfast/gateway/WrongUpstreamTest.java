package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** A gateway in front of servers that are slow, silent, loud or wrong. */
@Timeout(120)
class WrongUpstreamTest {
    private static final int MESSAGE_LIMIT = 16 << 20;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private static TestGateway before(URI url, String... forwarded) {
        return TestGateway.before(url, forwarded);
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303, 307, 308})
    void noRedirectIsFollowed(int status) {
        try (ScriptedUpstream other = new ScriptedUpstream();
                ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url(), "Authorization")) {
            upstream.on("initialize", asked -> {
                asked.exchange()
                        .getResponseHeaders()
                        .set("Location", other.url().toString());
                asked.status(status);
            });
            assertThat(new HttpPeer(gateway.url()).post(TestJson.INITIALIZE).body())
                    .contains("the upstream answered with HTTP status " + status + ": it redirects to http://"
                            + other.url().getRawAuthority()
                            + ", and redirects are not followed; configure the URL");
            assertThat(other.asked).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "https://user:secret@example.com:8443/secret?token=secret#secret, it redirects to https://example.com:8443",
        "/secret/mcp;jsessionid=secret?token=secret, it redirects to http://127.0.0.1:PORT",
        "mailto:secret, a redirect",
        "https://[secret, a redirect",
    })
    void noCredentialsOfARedirectAreTold(String location, String told) {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("tools/call", asked -> {
                asked.exchange().getResponseHeaders().set("Location", location);
                asked.status(307);
            });
            assertThat(HttpPeer.connected(gateway.url()).call(1, "tools/call"))
                    .contains(told.replace("PORT", "" + upstream.url().getPort()))
                    .doesNotContain("secret");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403, 413, 501})
    void aRefusalOfACallIsADefiniteError(int status) {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("tools/call", asked -> asked.status(status));
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "tools/call")).contains("the upstream answered with HTTP status " + status);
            assertThat(peer.call(2, "who")).contains("\"text\":\"done\"");
            assertThat(upstream.asked("tools/call")).hasSize(1);
        }
    }

    @Test
    void anUpstreamThatTakesNoNotificationsIsGivenUpBeforeTheyFillTheMemory() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("notifications/large", asked -> {});
            HttpPeer peer = HttpPeer.connected(gateway.url());
            String large =
                    "{'jsonrpc':'2.0','method':'notifications/large','params':{'text':'" + "x".repeat(3 << 20) + "'}}";
            for (int i = 0; i < 4; i++) {
                assertThat(peer.post(large).statusCode()).isEqualTo(202);
            }
            Wait.until(
                    "the session at the upstream is given up",
                    () -> upstream.asked("DELETE").size() == 1);
            assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");
            assertThat(upstream.asked("initialize")).hasSize(2);
        }
    }

    @Test
    void aCallAtWhichTheUpstreamFailsIsNotSentAgain() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("tools/call", asked -> asked.status(500));
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "tools/call"))
                    .contains("it is not known whether the upstream has executed the request");
            assertThat(upstream.asked("tools/call")).hasSize(1);
        }
    }

    @Test
    void anAnswerThatIsTooLongIsADefiniteErrorAndNotKept() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("long", asked -> asked.result("x".repeat(MESSAGE_LIMIT)));
            upstream.on("endless", asked -> {
                try (OutputStream stream = asked.stream()) {
                    byte[] piece = "x".repeat(1 << 16).getBytes(UTF_8);
                    stream.write("data: ".getBytes(UTF_8));
                    for (int i = 0; i < 10 * MESSAGE_LIMIT / piece.length; i++) {
                        stream.write(piece);
                    }
                }
            });
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "long")).contains("the upstream has executed the request, but");
            assertThat(peer.call(2, "endless")).contains("the upstream has executed the request, but");
            assertThat(peer.call(3, "who")).contains("\"text\":\"done\"");
        }
    }

    @Test
    void whatIsNoJsonRpcIsADefiniteError() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("who", asked -> asked.json("<html>"));
            upstream.on("other", asked -> asked.json("{'jsonrpc':'2.0','id':'another','result':{}}"));
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "who"))
                    .contains(
                            "it is not known whether the upstream has executed the request: the server sent what is no"
                                    + " JSON-RPC message: the body is not JSON near byte 0");
            assertThat(peer.call(2, "other"))
                    .contains("it is not known whether the upstream has executed the request: the answer has status 200"
                            + " and the type 'application/json', and no response in it");
        }
    }

    @Test
    void anAnswerThatCannotBeReadIsToldByTheLogToo() {
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        Logger log = (Logger) LoggerFactory.getLogger("dev.holdfast.upstream.UpstreamConnection");
        lines.start();
        log.addAppender(lines);
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            String answer = "{'result':{'x':NaN},'jsonrpc':'2.0','id':";
            upstream.on("body", asked -> asked.json(answer + asked.id() + "}"));
            // the stream stays open
            upstream.on("stream", asked -> {
                OutputStream stream = asked.stream();
                stream.write(
                        TestJson.of("data: " + answer + asked.id() + "}\n\n").getBytes(UTF_8));
                stream.flush();
            });
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "body")).contains("the body is not JSON near byte 18");
            assertThat(peer.call(2, "stream")).contains("the body is not JSON near byte 18");
        } finally {
            log.detachAppender(lines);
        }
        assertThat(lines.list)
                .hasSize(2)
                .allSatisfy(line -> assertThat(line.getLevel() + " " + line.getFormattedMessage())
                        .matches("WARN session \\S{8}: the upstream: the server sent what is no JSON-RPC message:"
                                + " the body is not JSON near byte 18"));
    }

    /** Not even where it brings something each time, which may be the same: it has no id. */
    @ParameterizedTest
    @ValueSource(strings = {"", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"})
    void aGetThatEndsAtOnceIsNotAskedForWithoutAPause(String events) {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("GET", asked -> {
                try (OutputStream stream = asked.stream()) {
                    stream.write(events.getBytes(UTF_8));
                }
            });
            HttpPeer peer = HttpPeer.connected(gateway.url());
            Wait.until("the GET was repeated", () -> upstream.asked("GET").size() >= 3);
            LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(3));
            assertThat(upstream.asked("GET")).hasSizeLessThan(10);
            assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");
        }
    }

    @Test
    void nothingOvertakesTheNotificationThatTheClientIsInitialized() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            AtomicBoolean accepted = new AtomicBoolean();
            upstream.on("notifications/initialized", asked -> {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
                accepted.set(true);
                asked.status(202);
            });
            upstream.on("who", asked -> asked.result("initialized: " + accepted.get()));
            assertThat(HttpPeer.connected(gateway.url()).call(1, "who")).contains("initialized: true");
        }
    }

    @Test
    void aLoudSessionDoesNotHoldUpAnother() {
        AtomicBoolean over = new AtomicBoolean();
        String note = TestJson.of("data: {'jsonrpc':'2.0','method':'notifications/message','params':{'data':'"
                + "x".repeat(50_000) + "'}}\n\n");
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            upstream.on("loud", asked -> {
                try (OutputStream stream = asked.stream()) {
                    while (!over.get()) {
                        stream.write(note.getBytes(UTF_8));
                    }
                }
            });
            HttpPeer loud = HttpPeer.connected(gateway.url());
            HttpPeer quiet = HttpPeer.connected(gateway.url());
            var unread = loud.posted(1, "loud");
            assertThat(Wait.until(unread).statusCode()).isEqualTo(200);
            for (int id = 1; id <= 20; id++) {
                assertThat(quiet.call(id, "who")).contains("\"text\":\"done\"");
            }
        } finally {
            over.set(true);
        }
    }

    @Test
    void onlyNamedHeadersReachTheUpstreamAndThoseWithEveryRequest() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url(), "Authorization", "X-Tenant")) {
            upstream.on("GET", asked -> {
                asked.stream().flush();
            });
            HttpPeer peer = HttpPeer.connected(
                    gateway.url(),
                    "Authorization",
                    "Bearer one",
                    "X-Tenant",
                    "blue",
                    "X-Tenant",
                    "red",
                    "Cookie",
                    "c=1");
            Wait.until("the GET comes", () -> !upstream.asked("GET").isEmpty());
            assertThat(peer.with("Authorization", "Bearer two").call(1, "who")).contains("done");
            assertThat(peer.with("Authorization", "Bearer two").delete().statusCode())
                    .isEqualTo(200);
            Wait.until("the DELETE comes", () -> !upstream.asked("DELETE").isEmpty());

            assertThat(upstream.asked("initialize").get(0).header("Authorization"))
                    .isEqualTo("Bearer one");
            assertThat(upstream.asked("initialize").get(0).header("X-Tenant")).isEqualTo("blue|red");
            assertThat(upstream.asked("GET").get(0).header("Authorization")).isEqualTo("Bearer one");
            assertThat(upstream.asked("who").get(0).header("Authorization")).isEqualTo("Bearer two");
            assertThat(upstream.asked("who").get(0).header("X-Tenant")).isEmpty();
            assertThat(upstream.asked("DELETE").get(0).header("Authorization")).isEqualTo("Bearer two");
            assertThat(upstream.asked)
                    .allSatisfy(asked -> assertThat(asked.header("Cookie")).isEmpty());
        }
    }

    @Test
    void withoutANameNoHeaderReachesTheUpstream() {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url())) {
            HttpPeer peer = HttpPeer.connected(gateway.url(), "Authorization", "Bearer one", "Cookie", "c=1");
            assertThat(peer.call(1, "who")).contains("done");
            assertThat(upstream.asked).allSatisfy(asked -> {
                assertThat(asked.header("Authorization")).isEmpty();
                assertThat(asked.header("Cookie")).isEmpty();
            });
        }
    }

    @Test
    void aSessionThatTheUpstreamHasLostIsOpenedAgainWithTheHeadersOfTheRequestThatNeedsIt() {
        AtomicBoolean forgotten = new AtomicBoolean();
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                TestGateway gateway = before(upstream.url(), "Authorization")) {
            upstream.on("who", asked -> {
                if (forgotten.get() && asked.header("Mcp-Session-Id").equals("session-1")) {
                    asked.status(404);
                } else {
                    asked.result(asked.header("Authorization"));
                }
            });
            HttpPeer peer = HttpPeer.connected(gateway.url(), "Authorization", "Bearer one");
            assertThat(peer.call(1, "who")).contains("Bearer one");
            forgotten.set(true);
            assertThat(peer.with("Authorization", "Bearer two").call(2, "who")).contains("Bearer two");
            assertThat(upstream.asked("initialize"))
                    .extracting(asked -> asked.header("Authorization"))
                    .containsExactly("Bearer one", "Bearer two");
        }
    }

    @Test
    void aGatewayThatEndsInOrderEndsItsSessionsAtTheUpstream() throws Exception {
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                GatewayProcess gateway = GatewayProcess.start(
                        folder,
                        List.of("serve", "--port", "0", "--store", "memory", "--upstream", "" + upstream.url()))) {
            HttpPeer peer = HttpPeer.connected(gateway.url());
            assertThat(peer.call(1, "who")).contains("done");
            gateway.process().destroy();
            assertThat(gateway.exitCode(20)).isZero();
            assertThat(upstream.asked("DELETE"))
                    .extracting(asked -> asked.header("Mcp-Session-Id"))
                    .containsExactly("session-1");
        }
    }

    @Test
    void manySessionsNeedNoThreadOfTheirOwn() throws IOException {
        int many = 200;
        try (ScriptedUpstream upstream = new ScriptedUpstream();
                GatewayProcess gateway = GatewayProcess.start(
                        folder,
                        List.of("serve", "--port", "0", "--store", "memory", "--upstream", "" + upstream.url()))) {
            upstream.on("GET", asked -> asked.stream().flush());
            upstream.on("running", asked -> asked.stream().flush());
            URI url = gateway.url();
            for (int i = 0; i < many; i++) {
                assertThat(Wait.until(HttpPeer.connected(url).posted(1, "running"))
                                .statusCode())
                        .isEqualTo(200);
            }
            Wait.until(
                    "every session listens and calls",
                    () -> upstream.asked("GET").size() == many
                            && upstream.asked("running").size() == many);
            assertThat(gateway.status("Threads")).isLessThan(many / 2);
        }
    }
}
