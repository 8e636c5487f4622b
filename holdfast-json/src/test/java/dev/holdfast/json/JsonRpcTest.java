package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.EnvelopeReader.Single;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.MessageFactory.Client;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JsonParser;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

class JsonRpcTest {
    private static final RequestId SEVEN = new RequestId("7");

    @Test
    void anErrorNamesTheRequestItAnswers() {
        OutboundMessage error = JsonRpc.MESSAGES.error(SEVEN, JsonRpc.INTERNAL_ERROR, "the backend ended");

        assertThat(error.kind()).isEqualTo(EventKind.ERROR);
        assertThat(error.id()).isEqualTo(SEVEN);
        assertThat(text(error.bytes()))
                .isEqualTo(
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"the backend ended\"}}");
    }

    @Test
    void anErrorToNobodyHasANullId() {
        assertThat(text(JsonRpc.errorBody(Optional.empty(), JsonRpc.PARSE_ERROR, "no")))
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}");
    }

    @Test
    void anErrorCarriesDataAsItIs() {
        byte[] body = JsonRpc.errorBody(
                Optional.of(JsonRpc.stringId("a")), JsonRpc.METHOD_NOT_FOUND, "no", "{\"supported\":[\"2025-11-25\"]}");

        assertThat(text(body))
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32601,\"message\":\"no\","
                        + "\"data\":{\"supported\":[\"2025-11-25\"]}}}");
    }

    private static Introduction introduction(String result) {
        return JsonRpc.MESSAGES.introduction(("{'jsonrpc':'2.0','id':1,'result':" + result + "}")
                .replace('\'', '"')
                .getBytes(UTF_8));
    }

    @Test
    void anIntroductionIsWhatAServerSaysInWhateverOrder() {
        Introduction said = introduction("{'capabilities':{'tools':{'listChanged':true},'x':[1,{'a':'1','b':2}]},"
                + "'serverInfo':{'name':'s','version':'1'}}");

        assertThat(introduction("{'instructions':'some', 'serverInfo':{'title':'S','version':'1','name':'s'},"
                        + " 'capabilities':{'x':[1, {'b':2,'a':'1'}],'tools':{'listChanged':true}}}"))
                .isEqualTo(said);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'capabilities':{'tools':{}},'serverInfo':{'name':'s','version':'1'}}",
                "{'capabilities':{'tools':{}},'serverInfo':{'name':'t','version':'2'}}",
                "{'capabilities':{'tools':[]},'serverInfo':{'name':'s','version':'2'}}",
                "{'capabilities':{'tools':{}},'serverInfo':{'name':'s','version':2}}",
                "{'capabilities':{'tools':{},'prompts':{}},'serverInfo':{'name':'s','version':'2'}}",
                "{'capabilities':{},'serverInfo':{'name':'s','version':'2'}}",
                "{'serverInfo':{'name':'s','version':'2'}}",
                "{'capabilities':{'tools':{}}}",
            })
    void anotherServerHasAnotherIntroduction(String result) {
        assertThat(introduction(result).known()).isTrue();
        assertThat(introduction(result))
                .isNotEqualTo(introduction("{'capabilities':{'tools':{}},'serverInfo':{'name':'s','version':'2'}}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "{'capabilities':{'tools':[1,{'a':", "{'capabilities':", "7"})
    void aServerThatSaysNothingHasNone(String result) {
        assertThat(introduction(result)).isEqualTo(Introduction.NONE);
    }

    @Test
    void theListsThatMayHaveChangedAreThoseWhoseChangesTheServerTells() {
        Introduction said = introduction("{'capabilities':{'tools':{'listChanged':true},"
                + "'prompts':{'listChanged':false},'resources':{'subscribe':true,'listChanged':true}}}");

        assertThat(JsonRpc.MESSAGES.listsChanged(said.lists()))
                .allMatch(message -> message.kind() == EventKind.NOTIFICATION && message.id() == null)
                .extracting(message -> text(message.bytes()))
                .containsExactly(
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}",
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\"}");
    }

    @Test
    void cancelledNamesTheRequestAndTheReason() {
        OutboundMessage cancelled = JsonRpc.MESSAGES.cancelled(JsonRpc.stringId("s-1"), "nobody \"waits\"");

        assertThat(cancelled.kind()).isEqualTo(EventKind.NOTIFICATION);
        assertThat(cancelled.id()).isNull();
        assertThat(text(cancelled.bytes()))
                .isEqualTo("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                        + "\"params\":{\"requestId\":\"s-1\",\"reason\":\"nobody \\\"waits\\\"\"}}");
    }

    @Test
    void whatItWritesCanBeReadAsAnEnvelope() {
        byte[] error = JsonRpc.MESSAGES.error(SEVEN, -1, "\u0000\"\\\n\uD800").bytes();
        byte[] cancelled = JsonRpc.MESSAGES.cancelled(SEVEN, "\uDC00\u001F").bytes();

        EnvelopeReader reader = new EnvelopeReader();
        assertThat(reader.read(error))
                .isInstanceOfSatisfying(
                        Single.class, read -> assertThat(read.message().id()).contains(SEVEN));
        assertThat(reader.read(cancelled))
                .isInstanceOfSatisfying(
                        Single.class,
                        read -> assertThat(read.message().cancelledRequest()).contains(SEVEN));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "plain",
                "\"\\/",
                "\u0000\u0001\b\t\n\f\r\u001F\u007F\u2028",
                "é日本😀",
                "\uD800",
                "\uDC00\uD800",
                "a\uD83Db",
                "\uD83D\uD83D\uDE00"
            })
    void aStringSurvivesQuoting(String text) {
        byte[] quoted = JsonText.quoted(text).getBytes(UTF_8);

        try (JsonParser parser = new JsonFactory().createParser(ObjectReadContext.empty(), quoted)) {
            parser.nextToken();
            assertThat(parser.getString()).isEqualTo(text);
            assertThat(parser.nextToken()).isNull();
        }
    }

    @Test
    void quotingEscapesNoMoreThanItMust() {
        assertThat(JsonText.quoted("/é日😀\u007F")).isEqualTo("\"/é日😀\u007F\"");
        assertThat(JsonText.quoted("\u0001\n\uD800")).isEqualTo("\"\\u0001\\n\\ud800\"");
    }

    private static String text(byte[] bytes) {
        return new String(bytes, UTF_8);
    }

    @Test
    void whatAClientSaysOfItselfIsRead() {
        byte[] initialize = "{\"params\":{\"clientInfo\":{\"version\":\"1.2\",\"name\":\"claude\"}}}".getBytes(UTF_8);
        assertThat(JsonRpc.MESSAGES.client(initialize)).isEqualTo(new Client("claude", "1.2"));
        assertThat(JsonRpc.MESSAGES.client("{\"params\":{\"clientInfo\":7}}".getBytes(UTF_8)))
                .isEqualTo(Client.UNKNOWN);
    }
}
