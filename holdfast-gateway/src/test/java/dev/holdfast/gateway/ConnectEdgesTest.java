package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
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
@Timeout(120)
class ConnectEdgesTest {
    private static final String WHO = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"who\"}";

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final List<BridgeProcess> started = new ArrayList<>();
    private final ScriptedUpstream server = new ScriptedUpstream();

    @AfterEach
    void stop() {
        server.close();
        started.forEach(BridgeProcess::close);
    }

    private BridgeProcess connect(String url) throws IOException {
        BridgeProcess bridge = BridgeProcess.start(folder, url);
        started.add(bridge);
        return bridge;
    }

    /** One with a session at the server. */
    private BridgeProcess connected() throws IOException {
        BridgeProcess bridge = connect(server.url().toString());
        bridge.begin();
        return bridge;
    }

    private static void assertEnds(BridgeProcess bridge) throws InterruptedException {
        assertThat(bridge.process().waitFor(60, TimeUnit.SECONDS)).isTrue();
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
        BridgeProcess bridge = connected();

        assertThat(bridge.ask(WHO)).contains("found");
    }

    @Test
    void oneToAnotherServerIsNotAndIsNamed() throws Exception {
        server.on("who", asked -> redirect(asked, "https://other.invalid/mcp"));
        BridgeProcess bridge = connected();

        assertThat(bridge.ask(WHO)).contains("\"id\":1", "307", "https://other.invalid/mcp");
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
        BridgeProcess bridge = connected();

        assertThat(bridge.ask(WHO))
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no such person\"}}");
    }

    @Test
    void theServerIsToldOnceThatTheSessionEnds() throws Exception {
        BridgeProcess bridge = connected();

        bridge.process().getOutputStream().close();

        assertEnds(bridge);
        Wait.until("the DELETE comes", () -> server.asked("DELETE").size() == 1);
    }

    @Test
    void aClientThatReadsNoMoreEndsIt() throws Exception {
        BridgeProcess bridge = connected();
        bridge.out().close();

        bridge.say(WHO);

        assertEnds(bridge);
        Wait.until("the DELETE comes", () -> server.asked("DELETE").size() == 1);
    }

    @Test
    void linesOfWhiteSpaceAreNoMessages() throws Exception {
        BridgeProcess bridge = connect(server.url().toString());
        bridge.say(" \t");
        bridge.say("");

        assertThat(bridge.ask(BridgeProcess.INITIALIZE)).contains("\"id\":0");
    }

    @Test
    void aMessageThatIsTooLongIsRefusedUnderItsIdWhereThatStandsAtItsStart() throws Exception {
        BridgeProcess bridge = connect(server.url().toString());
        for (String[] message : new String[][] {
            {"{'jsonrpc':'2.0','id':3,'method':'tools/call','params':{'text':'", "3"},
            {"{'method':'tools/call','id':'a','jsonrpc':'2.0','params':{'text':'", "'a'"},
            {"{'jsonrpc':'2.0','method':'tools/call','params':{'text':'", "null"},
            {"{'jsonrpc':'2.0','id':3,'result':{'text':'", "null"},
        }) {
            assertThat(bridge.ask(TestJson.of(message[0]) + "x".repeat(16 << 20) + "\"}}"))
                    .isEqualTo(TestJson.of("{'jsonrpc':'2.0','id':" + message[1]
                            + ",'error':{'code':-32600,'message':'a message has more than 16777216 bytes'}}"));
        }
    }

    @Test
    void aRequestThatCannotBeReadIsRefusedUnderItsIdWhereverThatStands() throws Exception {
        BridgeProcess bridge = connected();
        String deep = "[".repeat(250) + "]".repeat(250);
        String longId = "'" + "x".repeat(600) + "'";
        for (String[] request : new String[][] {
            {"{'jsonrpc':'2.0','id':5,'method':'tools/call','params':{'x':" + deep + "}}", "5", "-32700"},
            {"{'method':'tools/call','params':{'x':" + deep + "},'jsonrpc':'2.0','id':'a'}", "'a'", "-32700"},
            {"{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'x':'\u00ff'}}", "7", "-32700"},
            {"{'jsonrpc':'2.0','id':" + longId + ",'method':'ping'}", longId, "-32600"},
            {"{'jsonrpc':'2.0','id':1.0,'method':'ping'}", "1.0", "-32600"},
            {"{'id':8,'method':'ping'}", "8", "-32600"},
            {"{'jsonrpc':'2.0','id':9,'id':9,'method':'ping'}", "null", "-32600"},
            {"{'jsonrpc':'2.0','id':10,'result':{'x':NaN}}", "null", "-32700"},
        }) {
            bridge.say(TestJson.of(request[0] + "\n").getBytes(ISO_8859_1));

            assertThat(bridge.hear())
                    .startsWith(TestJson.of("{'jsonrpc':'2.0','id':" + request[1] + ",'error':{'code':" + request[2]));
        }
        assertThat(server.asked("tools/call")).isEmpty();
    }

    @Test
    void aRequestWithHalfACharacterInANamePassesAsItIs() throws Exception {
        BridgeProcess bridge = connected();
        String request = "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"who\",\"params\":{\"\\ud83d\":1}}";

        assertThat(bridge.ask(request)).contains("\"id\":6,\"result\"");
        assertThat(server.asked("who"))
                .singleElement()
                .satisfies(asked -> assertThat(asked.body()).isEqualTo(request));
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://127.0.0.1:99999/mcp", "http://my_host/mcp", "ftp://127.0.0.1/mcp"})
    void aUrlThatCannotBeReachedEndsItAtOnce(String url) throws Exception {
        BridgeProcess bridge = connect(url);

        assertEnds(bridge);
        assertThat(bridge.process().exitValue()).isEqualTo(2);
    }
}
