package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.demo.DemoServer;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code holdfast doctor} at real servers, behind a proxy with short limits. */
@Timeout(120)
class DoctorTest {
    private static final Duration LIMIT = Duration.ofMillis(1500);

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @AutoClose
    private final Opened opened = new Opened();

    private int run(String... args) {
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    private TestGateway demo(String... words) {
        return opened.add(TestGateway.demo(words));
    }

    @Test
    void holdfastAloneIsWell() {
        DoctorFindings findings = DoctorFindings.at(demo().url(), "--for", "2s");

        assertThat(findings.notOk()).isEmpty();
        assertThat(findings.exit()).as(findings.all().toString()).isZero();
        assertThat(findings.found("resume")).contains("nothing lost, nothing twice");
        assertThat(findings.found("takeover")).contains("takes a stream over");
        assertThat(findings.figure("body", "passesBytes")).isBetween(3_900_000L, 4L << 20);
        assertThat(findings.found("body")).contains("by the MCP server");
        assertThat(findings.figure("unknown-session", "status")).isEqualTo(404);
        assertThat(findings.figure("missing-session", "status")).isEqualTo(400);
    }

    @Test
    void aLimitOnAgeIsMeasuredAndTheKnobIsNamed() {
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.ofAge(demo().url(), LIMIT)).url());

        assertThat(findings.level("age")).isEqualTo("warning");
        assertThat(findings.found("age"))
                .matches(
                        "something on the way cuts every response after \\d\\.\\d s; this server keeps the session, .*");
        assertThat(findings.figure("age", "cuts")).isEqualTo(2);
        assertThat(findings.figure("age", "ageMillis")).isBetween(1500L, 8000L);
        assertThat(findings.advice("age")).containsPattern("Holdfast: --max-connection-age [1-6]s");
        assertThat(findings.level("idle")).isEqualTo("ok");
    }

    @Test
    void javaSdk920_aServerThatLosesItsSessionIsTold() {
        ForgetfulServer server = opened.add(new ForgetfulServer());
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.ofAge(server.url(), LIMIT)).url());

        assertThat(findings.exit()).isEqualTo(1);
        assertThat(findings.level("age")).isEqualTo("problem");
        assertThat(findings.found("age"))
                .matches("something on the way cuts every response after .* s; this server loses the session then");
        assertThat(DoctorFindings.at(server.url(), "--for", "1s").level("session-kept"))
                .isEqualTo("problem");
        assertThat(server.called()).as("calls of tools that nobody has named").isEmpty();
    }

    @Test
    void aLimitOnSilenceBelowTheHeartbeatIsMeasured() {
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.ofSilence(demo().url(), LIMIT)).url());

        assertThat(findings.level("idle")).isEqualTo("warning");
        assertThat(findings.found("idle"))
                .matches("streams that are silent for \\d\\.\\d s are cut; this server keeps the session, .*");
        assertThat(findings.advice("idle")).containsPattern("Holdfast: --heartbeat (\\d00ms|[12]s)");
        assertThat(findings.level("age")).isEqualTo("ok");
    }

    @Test
    void aLimitOnSilenceAboveTheHeartbeatDoesNoHarm() {
        URI url = demo("--heartbeat", "300ms").url();
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.ofSilence(url, LIMIT.multipliedBy(3))).url());

        assertThat(findings.notOk()).isEmpty();
    }

    @Test
    void aBufferIsFoundByTheToolOfTheDemo() {
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.buffering(demo().url())).url(), "--for", "1s");

        assertThat(findings.level("buffering")).isEqualTo("problem");
        assertThat(findings.found("buffering")).contains("came at once");
        assertThat(findings.advice("buffering")).contains("proxy_buffering off");
        assertThat(findings.figure("buffering", "firstMillis")).isBetween(900L, 20_000L);
    }

    @Test
    void aBufferIsFoundWithoutATool() {
        TestGateway gateway = opened.add(new TestGateway());
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.buffering(gateway.url())).url(), "--for", "1s");

        assertThat(findings.level("buffering")).isEqualTo("problem");
        assertThat(findings.found("buffering")).contains("Holdfast sends it at once");
    }

    @Test
    void aGatewayWithoutToolsIsWell() {
        DoctorFindings findings =
                DoctorFindings.at(opened.add(new TestGateway()).url(), "--for", "1s");

        assertThat(findings.notOk()).isEmpty();
        assertThat(findings.found("resume")).contains("comes again to who asks for it");
    }

    @Test
    void theServerEndsStreamsInOrderItself() {
        DoctorFindings findings =
                DoctorFindings.at(demo("--max-connection-age", "3s").url(), "--for", "5s");

        assertThat(findings.level("age")).isEqualTo("ok");
        assertThat(findings.figure("age", "ageMillis")).isBetween(2400L, 20_000L);
        assertThat(findings.found("age")).contains("streams are ended in order", "clients come back");
    }

    @Test
    void httpSseIsExaminedToo() {
        URI url = demo().url().resolve("/sse");
        // all that is examined before has to fit into the life of a stream
        Duration limit = LIMIT.multipliedBy(4);
        DoctorFindings findings =
                DoctorFindings.at(opened.add(LimitingProxy.ofAge(url, limit)).url(), "--for", "15s");

        assertThat(findings.found("session")).startsWith("HTTP+SSE, 2024-11-05, server holdfast-demo");
        assertThat(findings.level("buffering")).isEqualTo("ok");
        assertThat(findings.level("resume")).isEqualTo("warning");
        assertThat(findings.found("age"))
                .matches(
                        "something on the way cuts every response after .* s; over HTTP\\+SSE the session ends with it");
        assertThat(findings.level("body")).isEqualTo("ok");
        assertThat(findings.exit()).isEqualTo(1);
    }

    @Test
    void httpSseWithAGracePeriodIsWell() {
        URI url = demo("--sse-reconnect-grace", "1m").url().resolve("/sse");
        DoctorFindings findings = DoctorFindings.at(url, "--for", "1s");

        assertThat(findings.notOk()).isEmpty();
        assertThat(findings.found("resume")).contains("comes back to its session");
    }

    @Test
    void theOfficialTransportLosesWhatWasUnderWay() throws Exception {
        URI url = official();
        DoctorFindings findings = DoctorFindings.at(url, "--for", "2s");

        assertThat(findings.found("listening")).contains("has not come within");
        assertThat(findings.level("resume")).isEqualTo("warning");
        assertThat(findings.level("priming")).isEqualTo("warning");
        assertThat(findings.level("session-kept")).as(findings.all().toString()).isEqualTo("ok");
    }

    private URI official() throws Exception {
        HttpServletStreamableServerTransportProvider transport = HttpServletStreamableServerTransportProvider.builder()
                .mcpEndpoint("/mcp")
                .build();
        DemoServer.start(transport);
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        ServletHolder holder = new ServletHolder(transport);
        holder.setAsyncSupported(true);
        context.addServlet(holder, "/*");
        server.setHandler(context);
        server.start();
        opened.add(server::stop);
        return URI.create("http://127.0.0.1:" + connector.getLocalPort() + "/mcp");
    }

    @Test
    void whatCannotBeReachedOrWantsATokenIsNotMeasured(@TempDir Path folder) throws IOException {
        DoctorFindings none = DoctorFindings.at(URI.create("http://127.0.0.1:1/mcp"));
        assertThat(none.exit()).isEqualTo(2);
        assertThat(none.found("session")).contains("Connect");

        Path tokens = Files.writeString(folder.resolve("tokens"), "alice " + "a".repeat(48) + "\n");
        URI url = demo("--auth-token-file", tokens.toString()).url();
        DoctorFindings refused = DoctorFindings.at(url);
        assertThat(refused.exit()).isEqualTo(2);
        assertThat(refused.advice("session")).contains("--header");

        DoctorFindings served =
                DoctorFindings.at(url, "--for", "1s", "--header", "Authorization: Bearer " + "a".repeat(48));
        assertThat(served.notOk()).isEmpty();
    }

    @Test
    void peopleGetALineForEachFinding() {
        URI url = opened.add(LimitingProxy.buffering(demo().url())).url();

        assertThat(run("doctor", "--for=1s", url.toString())).isEqualTo(1);
        assertThat(out.toString().lines())
                .anyMatch(line -> line.matches("ok +session +Streamable HTTP, 2025-11-25, server holdfast-demo.*"))
                .anyMatch(line -> line.matches("problem +buffering +all of a stream came at once .*"))
                .anyMatch(line -> line.matches(" +-> switch its response buffering off .*"))
                .last()
                .asString()
                .startsWith("problems: 1, ");
        assertThat(err.toString()).startsWith("holdfast: watching streams for 1 s");
    }

    @Test
    void whatWasSeenOnceIsNoRule() {
        DoctorFindings findings = DoctorFindings.at(
                opened.add(LimitingProxy.ofAge(demo().url(), LIMIT)).url(), "--for", "3s");

        assertThat(findings.found("age")).startsWith("a response was cut after").contains("seen once; --for");
        assertThat(findings.figure("age", "cuts")).isEqualTo(1);
    }

    @Test
    void itsOptionsAreChecked() {
        assertThat(run("doctor")).isEqualTo(2);
        assertThat(err.toString()).contains("the URL is missing; usage: holdfast doctor [OPTIONS] URL");
        assertThat(run("doctor", "--for", "16m", "http://a/mcp")).isEqualTo(2);
        assertThat(err.toString()).contains("--for must be 1s to 15m, not 16m");
        assertThat(run("doctor", "--help")).isZero();
        assertThat(out.toString()).contains("holdfast doctor [OPTIONS] URL", "--tool=NAME", "--json");
    }

    /** A server of one protocol that forgets a session when a message meets a connection that is gone. */
    private static final class ForgetfulServer implements AutoCloseable {
        private static final String ID = "Mcp-Session-Id";

        private final Set<String> forgotten = ConcurrentHashMap.newKeySet();
        private final ScriptedUpstream server = new ScriptedUpstream()
                .on("GET", this::tell)
                .on("ping", asked -> {
                    if (asked.header(ID).isEmpty()) {
                        asked.status(400);
                    } else if (forgotten.contains(asked.header(ID))
                            || !asked.header(ID).startsWith("session-")) {
                        asked.status(404);
                    } else {
                        asked.result("pong");
                    }
                });

        private void tell(ScriptedUpstream.Asked asked) throws IOException {
            try (OutputStream stream = asked.stream()) {
                while (true) {
                    stream.write(
                            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n".getBytes(UTF_8));
                    stream.flush();
                    LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
                }
            } catch (IOException e) {
                forgotten.add(asked.header(ID));
                throw e;
            }
        }

        private URI url() {
            return server.url();
        }

        private List<ScriptedUpstream.Asked> called() {
            return server.asked("tools/call");
        }

        @Override
        public void close() {
            server.close();
        }
    }
}
