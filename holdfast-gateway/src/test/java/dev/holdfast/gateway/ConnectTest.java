package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.FreePort;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code holdfast connect} as a process between this client and a gateway of another process. */
@Timeout(90)
class ConnectTest {
    private static final String INITIALIZE = """
            {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},\
            "clientInfo":{"name":"test","version":"1"}}}""";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void endAll() {
        started.forEach(process -> process.destroyForcibly().onExit().join());
    }

    /** The bridge as a client meets it. */
    private record Bridge(Process process, BufferedReader out, OutputStream in) {
        private void say(String line) throws IOException {
            in.write((line + "\n").getBytes(UTF_8));
            in.flush();
        }

        private String hear() throws IOException {
            String line = out.readLine();
            return line == null ? "the end" : line;
        }

        /** Sends what wants an answer, and returns that; notifications before it are passed over. */
        private String ask(String line) throws IOException {
            say(line);
            String heard = hear();
            while (heard.contains("\"method\"")) {
                heard = hear();
            }
            return heard;
        }

        private void begin() throws IOException {
            assertThat(ask(INITIALIZE)).startsWith("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":");
            say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        }
    }

    private Process start(String... args) throws IOException {
        Process process = GatewayProcess.start(folder, List.of(args)).process();
        started.add(process);
        return process;
    }

    private Bridge connect(String... args) throws IOException {
        List<String> words = new ArrayList<>(List.of("connect"));
        words.addAll(List.of(args));
        Process process = start(words.toArray(String[]::new));
        return new Bridge(
                process,
                new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8)),
                process.getOutputStream());
    }

    private URI serving(String... args) throws IOException {
        List<String> words = new ArrayList<>(List.of("serve"));
        words.addAll(List.of(args));
        return new GatewayProcess(start(words.toArray(String[]::new))).url();
    }

    private static String echo(int id, String text) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id
                + ",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"" + text
                + "\"}}}";
    }

    @Test
    void messagesPassBothWaysAndTheEndOfTheInputEndsItInOrder() throws Exception {
        Bridge bridge = connect(serving("--port", "0", "--store", "memory").toString());
        bridge.begin();

        assertThat(bridge.ask(echo(1, "hello"))).contains("\"id\":1").contains("hello");
        assertThat(bridge.ask("[" + echo(2, "in a batch") + "]")).contains("in a batch");
        assertThat(bridge.ask("no json")).contains("\"id\":null").contains("-32700");
        bridge.in().close();

        assertThat(bridge.process().waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(bridge.process().exitValue()).isZero();
        assertThat(bridge.hear()).isEqualTo("the end");
    }

    @Test
    void callThatFindsNoServerIsAnsweredByTheNextOne() throws Exception {
        String store = "rocksdb:" + folder.resolve("store");
        String port = Integer.toString(FreePort.next());
        URI url = serving("--port", port, "--store", store);
        Bridge bridge = connect(url.toString());
        bridge.begin();
        assertThat(bridge.ask(echo(1, "before"))).contains("before");

        started.get(0).destroyForcibly().waitFor();
        bridge.say(echo(2, "meanwhile"));
        serving("--port", port, "--store", store);

        assertThat(bridge.hear()).contains("\"id\":2").contains("meanwhile");
    }

    @Test
    void serverThatForgotTheSessionServesItsCallsInAnother() throws Exception {
        String port = Integer.toString(FreePort.next());
        URI url = serving("--port", port, "--store", "memory");
        Bridge bridge = connect(url.toString());
        bridge.begin();

        started.get(0).destroyForcibly().waitFor();
        bridge.say(echo(1, "refused first"));
        serving("--port", port, "--store", "memory");

        assertThat(bridge.hear()).contains("\"id\":1").contains("refused first");
        assertThat(bridge.ask(echo(2, "again"))).contains("again");
    }

    @Test
    void unreachableServerIsToldAsAnError() throws Exception {
        Bridge bridge = connect("--patience", "300ms", "http://127.0.0.1:1/mcp");

        assertThat(bridge.ask(INITIALIZE))
                .contains("\"id\":0")
                .contains("\"error\"")
                .contains("cannot be reached");
    }

    @Test
    void requestWithAnIdThatIsInFlightIsToldSo() throws Exception {
        Bridge bridge = connect(serving("--port", "0", "--store", "memory").toString());
        bridge.begin();
        bridge.say("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"slow\","
                + "\"arguments\":{\"ms\":60000,\"steps\":1}}}");

        assertThat(bridge.ask(echo(7, "hello")))
                .contains("\"id\":7")
                .contains("\"message\":\"a request with the id 7 is in flight\"");
    }

    @Test
    void tokenIsReadAgainWhenTheServerWantsAnother() throws Exception {
        Path tokens = Files.writeString(folder.resolve("tokens"), "somebody right-token-0123456789abcdef\n");
        Path headers = Files.writeString(folder.resolve("headers"), "# mine\nAuthorization: Bearer wrong\n");
        URI url = serving("--port", "0", "--store", "memory", "--auth-token-file", tokens.toString());
        Bridge bridge = connect("--header-file", headers.toString(), url.toString());
        assertThat(bridge.ask(INITIALIZE)).contains("credentials").contains("--header-file");

        Files.writeString(headers, "Authorization: Bearer right-token-0123456789abcdef\n");

        bridge.begin();
        assertThat(bridge.ask(echo(1, "in"))).contains("\"in\"");
    }

    @Test
    void headersGoAlongWithEachRequest() throws Exception {
        Path tokens = Files.writeString(folder.resolve("tokens"), "somebody right-token-0123456789abcdef\n");
        URI url = serving("--port", "0", "--store", "memory", "--auth-token-file", tokens.toString());
        Bridge bridge = connect("--header", "Authorization: Bearer right-token-0123456789abcdef", url.toString());

        bridge.begin();

        assertThat(bridge.ask(echo(1, "in"))).contains("\"in\"");
    }
}
