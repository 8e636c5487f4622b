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
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** {@code holdfast doctor} at real servers, behind a proxy with short limits. */
@Timeout(120)
class DoctorTest {
    private static final Duration LIMIT = Duration.ofMillis(1500);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private <T extends AutoCloseable> T opened(T it) {
        open.add(it);
        return it;
    }

    private int run(String... args) {
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    /** What was found, by checks. */
    private record Findings(int exit, JsonNode all) {
        private JsonNode of(String check) {
            return all.path("findings")
                    .valueStream()
                    .filter(each -> each.path("check").asString().equals(check))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(check + " in " + all));
        }

        private String level(String check) {
            return of(check).path("level").asString();
        }

        private String found(String check) {
            return of(check).path("found").asString();
        }

        private long figure(String check, String name) {
            return of(check).path("figures").path(name).asLong(-1);
        }

        private List<String> notOk() {
            return all.path("findings")
                    .valueStream()
                    .filter(each -> !each.path("level").asString().equals("ok"))
                    .map(JsonNode::toString)
                    .toList();
        }
    }

    private Findings examined(URI url, String... options) {
        List<String> words = new ArrayList<>(List.of("doctor", "--json"));
        words.addAll(List.of(options));
        if (!words.contains("--for")) {
            words.addAll(List.of("--for", "4s"));
        }
        words.add(url.toString());
        int exit = run(words.toArray(String[]::new));
        return new Findings(exit, JSON.readTree(out.toString()));
    }

    private TestGateway demo(String... words) {
        return opened(TestGateway.demo(words));
    }

    @Test
    void holdfastAloneIsWell() {
        Findings findings = examined(demo().url(), "--for", "2s");

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
        Findings findings =
                examined(opened(LimitingProxy.ofAge(demo().url(), LIMIT)).url());

        assertThat(findings.level("age")).isEqualTo("warning");
        assertThat(findings.found("age"))
                .matches("a balancer ends every response after 1\\.[5-7] s; this server keeps the session, .*");
        assertThat(findings.figure("age", "ageMillis")).isBetween(1500L, 1900L);
        assertThat(findings.of("age").path("advice").asString()).contains("Holdfast: --max-connection-age 1s");
        assertThat(findings.level("idle")).isEqualTo("ok");
    }

    @Test
    void javaSdk920_aServerThatLosesItsSessionIsTold() {
        ForgetfulServer server = opened(new ForgetfulServer());
        Findings findings =
                examined(opened(LimitingProxy.ofAge(server.url(), LIMIT)).url());

        assertThat(findings.exit()).isEqualTo(1);
        assertThat(findings.level("age")).isEqualTo("problem");
        assertThat(findings.found("age"))
                .matches("a balancer ends every response after 1\\.[5-7] s; this server loses the session then");
        out.getBuffer().setLength(0);
        assertThat(examined(server.url(), "--for", "1s").level("session-kept")).isEqualTo("problem");
        assertThat(server.called()).as("calls of tools that nobody has named").isEmpty();
    }

    @Test
    void aLimitOnSilenceBelowTheHeartbeatIsMeasured() {
        Findings findings =
                examined(opened(LimitingProxy.ofSilence(demo().url(), LIMIT)).url());

        assertThat(findings.level("idle")).isEqualTo("warning");
        assertThat(findings.found("idle"))
                .matches("a stream that is silent for 1\\.[5-7] s is cut; this server keeps the session, .*");
        assertThat(findings.of("idle").path("advice").asString()).contains("Holdfast: --heartbeat 500ms");
        assertThat(findings.level("age")).isEqualTo("ok");
    }

    @Test
    void aLimitOnSilenceAboveTheHeartbeatDoesNoHarm() {
        URI url = demo("--heartbeat", "300ms").url();
        Findings findings = examined(opened(LimitingProxy.ofSilence(url, LIMIT)).url());

        assertThat(findings.notOk()).isEmpty();
    }

    @Test
    void aBufferIsFoundByTheToolOfTheDemo() {
        Findings findings =
                examined(opened(LimitingProxy.buffering(demo().url())).url(), "--for", "1s");

        assertThat(findings.level("buffering")).isEqualTo("problem");
        assertThat(findings.found("buffering")).contains("came at once");
        assertThat(findings.of("buffering").path("advice").asString()).contains("proxy_buffering off");
        assertThat(findings.figure("buffering", "firstMillis")).isBetween(900L, 3000L);
    }

    @Test
    void aBufferIsFoundWithoutATool() {
        TestGateway gateway = opened(new TestGateway());
        Findings findings =
                examined(opened(LimitingProxy.buffering(gateway.url())).url(), "--for", "1s");

        assertThat(findings.level("buffering")).isEqualTo("problem");
        assertThat(findings.found("buffering")).contains("Holdfast sends it at once");
    }

    @Test
    void aGatewayWithoutToolsIsWell() {
        Findings findings = examined(opened(new TestGateway()).url(), "--for", "1s");

        assertThat(findings.notOk()).isEmpty();
        assertThat(findings.found("resume")).contains("comes again to who asks for it");
    }

    @Test
    void theServerEndsStreamsInOrderItself() {
        Findings findings = examined(demo("--max-connection-age", "1s").url(), "--for", "2s");

        assertThat(findings.level("age")).isEqualTo("ok");
        assertThat(findings.figure("age", "ageMillis")).isBetween(800L, 1600L);
        assertThat(findings.found("age")).contains("ends streams in order", "clients come back");
    }

    @Test
    void httpSseIsExaminedToo() {
        URI url = demo().url().resolve("/sse");
        Findings findings = examined(opened(LimitingProxy.ofAge(url, LIMIT)).url());

        assertThat(findings.found("session")).startsWith("HTTP+SSE, 2024-11-05, server holdfast-demo");
        assertThat(findings.level("buffering")).isEqualTo("ok");
        assertThat(findings.level("resume")).isEqualTo("warning");
        assertThat(findings.found("age"))
                .matches("a balancer ends every response after 1\\.[5-7] s; over HTTP\\+SSE the session ends with it");
        assertThat(findings.level("body")).isEqualTo("ok");
        assertThat(findings.exit()).isEqualTo(1);
    }

    @Test
    void httpSseWithAGracePeriodIsWell() {
        URI url = demo("--sse-reconnect-grace", "1m").url().resolve("/sse");
        Findings findings = examined(url, "--for", "1s");

        assertThat(findings.notOk()).isEmpty();
        assertThat(findings.found("resume")).contains("comes back to its session");
    }

    @Test
    void theOfficialTransportLosesWhatWasUnderWay() throws Exception {
        URI url = official();
        Findings findings = examined(url, "--for", "2s");

        assertThat(findings.found("listening")).contains("has not come within");
        assertThat(findings.level("resume")).isEqualTo("problem");
        assertThat(findings.level("priming")).isEqualTo("warning");
        assertThat(findings.exit()).isEqualTo(1);
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
        open.add(server::stop);
        return URI.create("http://127.0.0.1:" + connector.getLocalPort() + "/mcp");
    }

    @Test
    void whatCannotBeReachedOrWantsATokenIsNotMeasured(@TempDir Path folder) throws IOException {
        Findings none = examined(URI.create("http://127.0.0.1:1/mcp"));
        assertThat(none.exit()).isEqualTo(2);
        assertThat(none.found("session")).contains("Connect");

        Path tokens = Files.writeString(folder.resolve("tokens"), "alice " + "a".repeat(48) + "\n");
        URI url = demo("--auth-token-file", tokens.toString()).url();
        out.getBuffer().setLength(0);
        Findings refused = examined(url);
        assertThat(refused.exit()).isEqualTo(2);
        assertThat(refused.of("session").path("advice").asString()).contains("--header");

        out.getBuffer().setLength(0);
        Findings served = examined(url, "--for", "1s", "--header", "Authorization: Bearer " + "a".repeat(48));
        assertThat(served.notOk()).isEmpty();
    }

    @Test
    void peopleGetALineForEachFinding() {
        URI url = opened(LimitingProxy.buffering(demo().url())).url();

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
