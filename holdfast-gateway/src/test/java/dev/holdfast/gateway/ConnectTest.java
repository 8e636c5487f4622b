package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.FreePort;
import java.io.IOException;
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

/** {@code holdfast connect} as a process between this client and a gateway. */
@Timeout(240)
class ConnectTest {
    /** Seconds: less than the ten for which a bridge waits for last answers. */
    private static final long WITHOUT_A_WAIT = 9;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<Process> started = new ArrayList<>();
    private final List<TestGateway> gateways = new ArrayList<>();

    @AfterEach
    void endAll() {
        started.forEach(Wait::untilKilled);
        gateways.forEach(TestGateway::close);
    }

    private Process start(String... args) throws IOException {
        Process process = GatewayProcess.start(folder, List.of(args)).process();
        started.add(process);
        return process;
    }

    private BridgeProcess connect(String... args) throws IOException {
        BridgeProcess bridge = BridgeProcess.start(folder, args);
        started.add(bridge.process());
        return bridge;
    }

    /** One in this process, where nothing ends it. */
    private TestGateway demo(String... words) {
        TestGateway gateway = TestGateway.demo(words);
        gateways.add(gateway);
        return gateway;
    }

    /** One as a process, for a test that ends it. */
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
        BridgeProcess bridge = connect(demo().url().toString());
        bridge.begin();

        assertThat(bridge.ask(echo(1, "hello"))).contains("\"id\":1").contains("hello");
        assertThat(bridge.ask("[" + echo(2, "in a batch") + "]")).contains("in a batch");
        assertThat(bridge.ask("no json")).contains("\"id\":null").contains("-32700");
        bridge.process().getOutputStream().close();

        assertThat(bridge.process().waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(bridge.process().exitValue()).isZero();
        assertThat(bridge.hear()).isEqualTo("the end");
    }

    private static String slow(int id, int millis) {
        return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"tools/call\",\"params\":{\"name\":\"slow\","
                + "\"arguments\":{\"ms\":" + millis + ",\"steps\":1}}}";
    }

    @Test
    void callsUnderWayAreAnsweredThoughTheInputHasEnded() throws Exception {
        BridgeProcess bridge = connect(demo().url().toString());
        bridge.begin();

        bridge.say(slow(1, 3_000));
        bridge.process().getOutputStream().close();

        assertThat(bridge.hear()).contains("\"id\":1,\"result\"");
        assertThat(bridge.process().waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(bridge.process().exitValue()).isZero();
    }

    @Test
    void aBridgeThatWaitsForLastAnswersEndsWhenItIsTold() throws Exception {
        BridgeProcess bridge = connect(demo().url().toString());
        bridge.begin();
        bridge.say(slow(1, 60_000));
        bridge.process().getOutputStream().close();

        bridge.process().destroy();

        assertThat(bridge.process().waitFor(WITHOUT_A_WAIT, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aBridgeWhoseClientIsGoneDoesNotWaitForLastAnswers() throws Exception {
        BridgeProcess bridge = connect(demo().url().toString());
        bridge.begin();
        bridge.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"slow\","
                + "\"arguments\":{\"ms\":60000,\"steps\":600},\"_meta\":{\"progressToken\":1}}}");
        assertThat(bridge.hear()).contains("notifications/progress");

        bridge.process().getInputStream().close();
        bridge.process().getOutputStream().close();

        assertThat(bridge.process().waitFor(WITHOUT_A_WAIT, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void callThatFindsNoServerIsAnsweredByTheNextOne() throws Exception {
        String store = "rocksdb:" + folder.resolve("store");
        String port = Integer.toString(FreePort.next());
        URI url = serving("--port", port, "--store", store);
        BridgeProcess bridge = connect(url.toString());
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
        BridgeProcess bridge = connect(url.toString());
        bridge.begin();

        started.get(0).destroyForcibly().waitFor();
        bridge.say(echo(1, "refused first"));
        serving("--port", port, "--store", "memory");

        assertThat(bridge.hear()).contains("\"id\":1").contains("refused first");
        assertThat(bridge.ask(echo(2, "again"))).contains("again");
    }

    @Test
    void unreachableServerIsToldAsAnError() throws Exception {
        BridgeProcess bridge = connect("--patience", "300ms", "http://127.0.0.1:1/mcp");

        assertThat(bridge.ask(BridgeProcess.INITIALIZE))
                .contains("\"id\":0")
                .contains("\"error\"")
                .contains("cannot be reached");
    }

    @Test
    void requestWithAnIdThatIsInFlightIsToldSo() throws Exception {
        BridgeProcess bridge = connect(demo().url().toString());
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
        URI url = demo("--auth-token-file", tokens.toString()).url();
        BridgeProcess bridge = connect("--header-file", headers.toString(), url.toString());
        assertThat(bridge.ask(BridgeProcess.INITIALIZE)).contains("credentials").contains("--header-file");

        Files.writeString(headers, "Authorization: Bearer right-token-0123456789abcdef\n");

        bridge.begin();
        assertThat(bridge.ask(echo(1, "in"))).contains("\"in\"");
    }

    @Test
    void headersGoAlongWithEachRequest() throws Exception {
        Path tokens = Files.writeString(folder.resolve("tokens"), "somebody right-token-0123456789abcdef\n");
        URI url = demo("--auth-token-file", tokens.toString()).url();
        BridgeProcess bridge =
                connect("--header", "Authorization: Bearer right-token-0123456789abcdef", url.toString());

        bridge.begin();

        assertThat(bridge.ask(echo(1, "in"))).contains("\"in\"");
    }
}
