package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code holdfast connect} at servers that are not as one would wish, and under clients that leave. */
@Timeout(60)
class ConnectEdgesTest {
    private static final String INITIALIZE = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
            + "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<Process> started = new ArrayList<>();
    private final ScriptedUpstream server = new ScriptedUpstream();

    @AfterEach
    void stop() {
        server.close();
        started.forEach(Process::destroyForcibly);
    }

    private Process connect(String url) throws IOException {
        Process process = GatewayProcess.start(folder, List.of("connect", url)).process();
        started.add(process);
        return process;
    }

    private static void say(Process bridge, String line) throws IOException {
        bridge.getOutputStream().write((line + "\n").getBytes(UTF_8));
        bridge.getOutputStream().flush();
    }

    private static String ask(Process bridge, BufferedReader out, String line) throws IOException {
        say(bridge, line);
        return String.valueOf(out.readLine());
    }

    private static BufferedReader output(Process bridge) {
        return new BufferedReader(new InputStreamReader(bridge.getInputStream(), UTF_8));
    }

    private static void redirect(ScriptedUpstream.Asked asked, String location) throws IOException {
        asked.exchange().getResponseHeaders().set("Location", location);
        asked.status(307);
    }

    @Test
    void aRedirectWithinTheServerIsFollowed() throws Exception {
        server.on("who", asked -> {
            if (asked.exchange().getRequestURI().getPath().equals("/mcp/")) {
                asked.result("found");
            } else {
                redirect(asked, "/mcp/");
            }
        });
        Process bridge = connect(server.url().toString());
        BufferedReader out = output(bridge);
        ask(bridge, out, INITIALIZE);

        assertThat(ask(bridge, out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"who\"}"))
                .contains("found");
    }

    @Test
    void oneToAnotherServerIsNotAndIsNamed() throws Exception {
        server.on("who", asked -> redirect(asked, "https://other.invalid/mcp"));
        Process bridge = connect(server.url().toString());
        BufferedReader out = output(bridge);
        ask(bridge, out, INITIALIZE);

        assertThat(ask(bridge, out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"who\"}"))
                .contains("\"id\":1", "307", "https://other.invalid/mcp");
    }

    /** As servers write it that have not read the id. */
    @Test
    void theReasonOfARefusalReachesTheClient() throws Exception {
        server.on("who", asked -> {
            byte[] error =
                    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32602,\"message\":\"no such person\"}}"
                            .getBytes(UTF_8);
            asked.exchange().getResponseHeaders().set("Content-Type", "application/json");
            asked.exchange().sendResponseHeaders(422, error.length);
            asked.exchange().getResponseBody().write(error);
            asked.exchange().close();
        });
        Process bridge = connect(server.url().toString());
        BufferedReader out = output(bridge);
        ask(bridge, out, INITIALIZE);

        assertThat(ask(bridge, out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"who\"}"))
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no such person\"}}");
    }

    @Test
    void theServerIsToldOnceThatTheSessionEnds() throws Exception {
        Process bridge = connect(server.url().toString());
        ask(bridge, output(bridge), INITIALIZE);

        bridge.getOutputStream().close();

        assertThat(bridge.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(server.asked("DELETE")).hasSize(1);
    }

    @Test
    void aClientThatReadsNoMoreEndsIt() throws Exception {
        Process bridge = connect(server.url().toString());
        BufferedReader out = output(bridge);
        ask(bridge, out, INITIALIZE);
        out.close();

        say(bridge, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"who\"}");

        assertThat(bridge.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(server.asked("DELETE")).hasSize(1);
    }

    @Test
    void linesOfWhiteSpaceAreNoMessages() throws Exception {
        Process bridge = connect(server.url().toString());
        BufferedReader out = output(bridge);
        say(bridge, " \t");
        say(bridge, "");

        assertThat(ask(bridge, out, INITIALIZE)).contains("\"id\":0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://127.0.0.1:99999/mcp", "http://my_host/mcp", "ftp://127.0.0.1/mcp"})
    void aUrlThatCannotBeReachedEndsItAtOnce(String url) throws Exception {
        Process bridge = connect(url);

        assertThat(bridge.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(bridge.exitValue()).isEqualTo(2);
    }
}
