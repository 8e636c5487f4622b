package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModernClientTest {
    private static final EnvelopeReader READER = new EnvelopeReader();

    private static Envelope message(String members) {
        return READER.message(
                ("{'jsonrpc':'2.0'," + members + "}").replace('\'', '"').getBytes(UTF_8));
    }

    private static ModernClient client(String revision, String capabilities) {
        return ModernClient.of(message("'id':1,'method':'initialize','params':{'protocolVersion':'" + revision
                + "','capabilities':" + capabilities + ",'clientInfo':{'name':'c','version':'1'}}"));
    }

    private static String sent(Envelope request) {
        return new String(request.bytes(), UTF_8).replace('"', '\'').replace("io.modelcontextprotocol/", "");
    }

    @Test
    void aRequestSaysWhoItsClientIsAndKeepsWhatItSays() {
        Envelope request = client("2025-11-25", "{'sampling':{},'tasks':{},'extensions':{'x/y':{}}}")
                .request(
                        JsonRpc.stringId("7"),
                        "tools/call",
                        Map.of("name", "\"t\"", "_meta", "{\"progressToken\":\"p\"}"),
                        Optional.of("info"));

        assertThat(request.id()).contains(JsonRpc.stringId("7"));
        assertThat(request.progressToken()).contains(JsonRpc.stringId("p"));
        assertThat(request.modernVersion()).contains("2026-07-28");
        RequestMeta meta = RequestMeta.of(request);
        assertThat(meta.tasks()).isTrue();
        assertThat(meta.logLevel()).contains("info");
        assertThat(meta.capabilities()).contains("{\"extensions\":{\"x/y\":{}},\"sampling\":{}}");
        assertThat(sent(request)).contains("'clientInfo':{'name':'c','version':'1'}", "'name':'t'");
    }

    @Test
    void whatAClientOfTheSameRevisionSaysOfItselfStays() {
        Envelope request = client("2025-11-25", "{}")
                .request(
                        JsonRpc.stringId("7"),
                        "tools/list",
                        Map.of(
                                "_meta",
                                "{\"io.modelcontextprotocol/clientInfo\":{\"name\":\"d\"},"
                                        + "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"),
                        Optional.empty());

        assertThat(sent(request)).containsOnlyOnce("protocolVersion").contains("'clientInfo':{'name':'d'}");
    }

    @Test
    void ofARequestOfTheClientEveryParameterStaysAsItIsWritten() {
        Envelope call =
                message("'id':3, 'method':'tools/call', 'params' : { 'name':'t' ,'_meta':{'progressToken':'p','a/b':1},"
                        + " 'arguments' : {'text':'\\u00e4 ü \\ud800', 'n': 1.0}, 'requestState' : 'mine'}");

        Envelope request = client("2025-11-25", "{}")
                .request(JsonRpc.stringId("7"), call, Map.of("requestState", "\"s\""), Optional.of("info"));

        assertThat(request.id()).contains(JsonRpc.stringId("7"));
        assertThat(request.progressToken()).contains(JsonRpc.stringId("p"));
        assertThat(request.modernVersion()).contains("2026-07-28");
        assertThat(RequestMeta.of(request).logLevel()).contains("info");
        assertThat(sent(request))
                .startsWith("{'jsonrpc':'2.0','id':'7','method':'tools/call','params':{'name':'t','arguments':{'text':"
                        + "'\\u00e4 ü \\ud800', 'n': 1.0},'requestState':'s','_meta':{'progressToken':'p','a/b':1,")
                .doesNotContain("mine");
    }

    @Test
    void aRequestWithoutParametersSaysWhoItsClientIs() {
        Envelope request = client("2025-11-25", "{}")
                .request(JsonRpc.stringId("7"), message("'id':3,'method':'tools/list'"), Map.of(), Optional.empty());

        assertThat(sent(request))
                .startsWith("{'jsonrpc':'2.0','id':'7','method':'tools/list','params':{'_meta':{'protocolVersion'");
        assertThat(request.modernVersion()).contains("2026-07-28");
    }

    @ParameterizedTest
    @CsvSource({"2025-03-26, 2025-03-26", "2030-01-01, 2025-11-25"})
    void anAnswerToDiscoveryIsOneToInitialize(String asked, String answered) {
        byte[] discovered = message(
                        "'id':'d','result':{'supportedVersions':['2026-07-28'],'instructions':'i','capabilities':{'tools':{'listChanged':true},'extensions':{'io.modelcontextprotocol/tasks':{},'x/y':{}}},'_meta':{'io.modelcontextprotocol/serverInfo':{'name':'s','version':'1'}}}")
                .bytes();

        Envelope initialized = client(asked, "{}")
                .initialized(JsonRpc.stringId("0"), discovered)
                .orElseThrow();

        assertThat(initialized.protocolVersion()).contains(answered);
        assertThat(sent(initialized))
                .contains(
                        "'serverInfo':{'name':'s','version':'1'}",
                        "'instructions':'i'",
                        "'tools':{'listChanged':true}",
                        "'extensions':{'x/y':{}}")
                .doesNotContain("tasks");
    }

    @Test
    void aServerThatSpeaksOnlyOtherRevisionsIsNone() {
        byte[] discovered = message("'id':'d','result':{'supportedVersions':['2027-01-01'],'capabilities':{}}")
                .bytes();

        assertThat(client("2025-11-25", "{}").initialized(JsonRpc.stringId("0"), discovered))
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "plain, plain",
        "'two words', 'two words'",
        "' padded ', =?base64?IHBhZGRlZCA=?=",
        "Wörld, =?base64?V8O2cmxk?=",
        "=?base64?literal?=, =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="
    })
    void aNameIsEncodedWhereAHeaderCannotHaveItAsItIs(String name, String header) {
        Envelope call = message("'id':1,'method':'tools/call','params':{'name':'" + name + "'}");

        assertThat(ModernClient.headers(call, new ToolHeaders()))
                .containsEntry("Mcp-Method", "tools/call")
                .containsEntry("Mcp-Name", header);
    }

    @Test
    void argumentsStandInTheHeadersThatTheirToolWants() {
        ToolHeaders tools = new ToolHeaders();
        tools.learn(message(
                        "'id':1,'result':{'tools':[{'name':'t','inputSchema':{'properties':{'a':{'x-mcp-header':'A'},'b':{'x-mcp-header':'B'},'c':{'x-mcp-header':'no token'},'d':{'x-mcp-header':'D'},'o':{'properties':{'e':{'x-mcp-header':'E'}}}}}}]}")
                .bytes());
        Envelope call = message(
                "'id':1,'method':'tools/call','params':{'name':'t','arguments':{'a':'x','b':42,'c':'y','d':null,'o':{'e':true}}}");

        assertThat(ModernClient.headers(call, tools))
                .containsOnly(
                        Map.entry("Mcp-Method", "tools/call"),
                        Map.entry("Mcp-Name", "t"),
                        Map.entry("Mcp-Param-A", "x"),
                        Map.entry("Mcp-Param-B", "42"),
                        Map.entry("Mcp-Param-E", "true"));
        assertThat(ModernClient.headers(message("'id':1,'method':'resources/read','params':{'uri':'a://b'}"), tools))
                .containsEntry("Mcp-Name", "a://b");
    }
}
