package dev.holdfast.json;

import static dev.holdfast.json.MessageText.at;
import static dev.holdfast.json.MessageText.having;
import static dev.holdfast.json.MessageText.json;
import static dev.holdfast.json.MessageText.message;
import static dev.holdfast.json.MessageText.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.holdfast.json.Envelope.Kind;
import dev.holdfast.json.Envelope.Span;
import dev.holdfast.spi.RequestId;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvelopeTest {
    private static final RequestId SEVEN = new RequestId("7");

    @Test
    void aMethodWithAnIdIsARequest() {
        Envelope message = having("'id':7,'method':'tools/call','params':{'name':'echo'}");

        assertThat(message.kind()).isEqualTo(Kind.REQUEST);
        assertThat(message.id()).contains(SEVEN);
        assertThat(message.method()).isEqualTo("tools/call");
        assertThat(at(message, message.idSpan())).isEqualTo("7");
        assertThat(message.progressToken()).isEmpty();
        assertThat(message).hasToString("REQUEST tools/call 7");
    }

    @Test
    void itsNameFitsIntoALogWhateverTheSenderHasWritten() {
        Envelope message = having("'id':'a\\u2028b\\u202ec\\u000ad','method':'e\\u2028f\\u202eg'");

        assertThat(message).hasToString("REQUEST e?f?g \"a?b?c\\nd\"");
    }

    @Test
    void aMethodWithoutAnIdIsANotification() {
        Envelope message = having("'method':'notifications/initialized'");

        assertThat(message.kind()).isEqualTo(Kind.NOTIFICATION);
        assertThat(message.id()).isEmpty();
        assertThat(message.idSpan()).isEqualTo(Span.NONE);
    }

    @Test
    void aResultOrAnErrorIsAResponse() {
        assertThat(having("'id':7,'result':{}").kind()).isEqualTo(Kind.RESPONSE);
        assertThat(having("'result':null,'id':7").kind()).isEqualTo(Kind.RESPONSE);
        assertThat(having("'id':7,'error':{'code':1,'message':'no'}").kind()).isEqualTo(Kind.ERROR);
        assertThat(having("'id':7,'error':{}").method()).isEmpty();
    }

    @Test
    void nullStandsForAnAbsentMemberButNotForAnAbsentId() {
        assertThat(having("'id':7,'error':null,'result':{}").kind()).isEqualTo(Kind.RESPONSE);
        assertThat(having("'id':7,'error':{},'result':null").kind()).isEqualTo(Kind.ERROR);
        assertThat(having("'id':7,'method':'ping','params':null,'result':null,'error':null")
                        .kind())
                .isEqualTo(Kind.REQUEST);
    }

    @Test
    void anErrorMayAnswerARequestThatCouldNotBeRead() {
        Envelope nullId = having("'id':null,'error':{}");

        assertThat(nullId.kind()).isEqualTo(Kind.ERROR);
        assertThat(nullId.id()).isEmpty();
        assertThat(at(nullId, nullId.idSpan())).isEqualTo("null");
        assertThat(having("'error':{}").idSpan()).isEqualTo(Span.NONE);
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            0                | 0
            -0               | 0
            -12              | -12
            9007199254740993 | 9007199254740993
            ''               | ''
            '1'              | '1'
            '\\u0061'        | 'a'
            '\\/'            | '/'
            'a\\u000ab'      | 'a\\nb'
            '\\ud83d\\ude00' | '😀'
            '\\ud83d'        | '\\ud83d'
            '\\\\u0061'      | '\\\\u0061'
            """)
    void anIdIsSpelledOneWay(String written, String canonical) {
        assertThat(having("'id':" + written + ",'method':'ping'").id())
                .contains(new RequestId(text(json(canonical)).replace('\'', '"')));
    }

    @Test
    void aNumberIsNotTheStringOfItsDigits() {
        assertThat(having("'id':1,'method':'ping'").id())
                .isNotEqualTo(having("'id':'1','method':'ping'").id());
    }

    @Test
    void anIdMayHave512CharactersOr64Digits() {
        assertThat(having("'id':'" + "é".repeat(512) + "','method':'ping'").id())
                .isPresent();
        assertThat(having("'id':" + "9".repeat(64) + ",'method':'ping'").id()).isPresent();
    }

    @Test
    void spansAreExactBehindCharactersOfManyBytes() {
        Envelope message = message(
                "\uFEFF \n{'é日😀':'日本','id' : '日' ,'params': {'😀':'é','_meta' : {'é':1,'progressToken' :\t'tök'} }"
                        + " ,'jsonrpc':'2.0','method':'tools/call','日':[{'id':1}]} \r\n");

        assertThat(at(message, message.idSpan())).isEqualTo("'日'");
        assertThat(at(message, message.subjectSpan())).isEqualTo("'tök'");
        assertThat(text(message.bytes())).startsWith("{'é日😀'").endsWith("}]}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"3", "'t'", "-3"})
    void aRequestNamesItsProgressTokenInMeta(String token) {
        Envelope message =
                having("'id':1,'method':'x','params':{'progressToken':9,'_meta':{'progressToken':" + token + "}}");

        assertThat(message.progressToken()).contains(new RequestId(token.replace('\'', '"')));
        assertThat(at(message, message.subjectSpan())).isEqualTo(token);
    }

    @Test
    void aProgressNotificationNamesItsTokenInParams() {
        Envelope message =
                having("'params':{'_meta':{'progressToken':9},'progressToken':'t'},'method':'notifications/progress'");

        assertThat(message.progressToken()).contains(new RequestId("\"t\""));
        assertThat(at(message, message.subjectSpan())).isEqualTo("'t'");
    }

    @Test
    void noOtherMessageHasAProgressToken() {
        Envelope message =
                having("'params':{'_meta':{'progressToken':9},'progressToken':9},'method':'notifications/x'");

        assertThat(message.progressToken()).isEmpty();
        assertThat(message.subjectSpan()).isEqualTo(Span.NONE);
    }

    @Test
    void aCancellationNamesItsRequest() {
        Envelope message = having("'params':{'reason':'é','requestId':7},'method':'notifications/cancelled'");

        assertThat(message.cancelledRequest()).contains(SEVEN);
        assertThat(at(message, message.subjectSpan())).isEqualTo("7");
        assertThat(having("'params':{'requestId':7},'method':'notifications/x'").cancelledRequest())
                .isEmpty();
    }

    @Test
    void theRevisionComesFromInitializeAndFromItsResult() {
        assertThat(having("'id':1,'params':{'protocolVersion':'2025-06-18'},'method':'initialize'")
                        .protocolVersion())
                .contains("2025-06-18");
        assertThat(having("'id':1,'result':{'capabilities':{},'protocolVersion':'2025-06-18'}")
                        .protocolVersion())
                .contains("2025-06-18");
        assertThat(having("'id':1,'params':{'protocolVersion':'2025-06-18'},'method':'x'")
                        .protocolVersion())
                .isEmpty();
    }

    @Test
    void aModernRequestNamesItsRevisionInMeta() {
        Envelope message = having("'id':1,'method':'server/discover',"
                + "'params':{'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}");

        assertThat(message.modernVersion()).contains("2026-07-28");
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "null", "true", "[]", "{'uri':'a'}", "1.5"})
    void aValueOfTheWrongTypeIsAbsent(String value) {
        Envelope message =
                having("'id':1,'method':'initialize','params':{'uri':%s,'protocolVersion':%s,".formatted(value, value)
                        + "'_meta':{'progressToken':%s,'io.modelcontextprotocol/protocolVersion':%s}}"
                                .formatted(value.equals("1") ? "{}" : value, value));

        assertThat(message.uri()).isEmpty();
        assertThat(message.protocolVersion()).isEmpty();
        assertThat(message.modernVersion()).isEmpty();
        assertThat(message.progressToken()).isEmpty();
        assertThat(message.subjectSpan()).isEqualTo(Span.NONE);
        assertThat(having("'id':1,'method':'x','params':{'_meta':" + value + "}")
                        .progressToken())
                .isEmpty();
    }

    @Test
    void anotherIdLeavesEveryOtherByteAsItWas() {
        Envelope message =
                message(" {'é' : 1.50e+0, 'id' : 'old' ,'result':{'id':'old', 'x':'\\u0061'},'jsonrpc':'2.0'} ");

        assertThat(text(message.withId(SEVEN).bytes()))
                .isEqualTo("{'é' : 1.50e+0, 'id' : 7 ,'result':{'id':'old', 'x':'\\u0061'},'jsonrpc':'2.0'}");
        assertThat(text(message.withId(JsonRpc.stringId("née-1")).bytes()))
                .isEqualTo("{'é' : 1.50e+0, 'id' : 'née-1' ,'result':{'id':'old', 'x':'\\u0061'},'jsonrpc':'2.0'}");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{V,C,'progressToken':'é'} | {'progressToken':'é'}",
                "{'progressToken':'é',V, C } | {'progressToken':'é'}",
                "{'a':[1,{'b':2}] , V,'progressToken':'é',C} | {'a':[1,{'b':2}],'progressToken':'é'}",
                "{C ,'a':1,'progressToken':'é'} | {'a':1,'progressToken':'é'}",
                "{V,'x':{},C,'a':1, 'progressToken':'é'} | {'x':{},'a':1,'progressToken':'é'}"
            })
    void whatARequestSaysOfItselfIsLeftOut(String meta, String expected) {
        Envelope message = having("'id':'é','method':'x','params':{'_meta':"
                + meta.replace("V", "'io.modelcontextprotocol/protocolVersion':'2026-07-28'")
                        .replace("C", "'io.modelcontextprotocol/clientCapabilities':{'roots':{'é':[1,2]}}")
                + ",'name':'y'}");

        Envelope without = message.withoutClaims().withProgressToken(SEVEN).withId(SEVEN);

        assertThat(text(without.bytes()).replace(" ", ""))
                .isEqualTo("{'jsonrpc':'2.0','id':7,'method':'x','params':{'_meta':" + expected.replace("'é'", "7")
                        + ",'name':'y'}}");
        assertThat(text(having("'method':'x','params':{'_meta':{}}")
                        .withoutClaims()
                        .bytes()))
                .contains("'_meta':{}");
    }

    @Test
    void whatHasNoIdGetsNone() {
        assertThatIllegalStateException()
                .isThrownBy(() -> having("'method':'notifications/x'").withId(SEVEN));
    }

    @Test
    void whatWasNamedAnewCanBeNamedAgainWhereverItsTokensLie() {
        for (String form : List.of(
                "'id':%s,'method':'x','params':{'_meta':{'progressToken':%s},'é':1}",
                "'params':{'_meta':{'é':1,'progressToken':%2$s}},'method':'x','id':%1$s")) {
            Envelope message = having(form.formatted("123456", "'a token'"));
            for (int i = 0; i < 3; i++) {
                RequestId id = new RequestId("1".repeat(i + 1));
                RequestId token = JsonRpc.stringId("t".repeat(5 - i));
                message = message.withId(id).withProgressToken(token);

                assertThat(message.id()).contains(id);
                assertThat(message.progressToken()).contains(token);
                assertThat(text(message.bytes()))
                        .isEqualTo("{'jsonrpc':'2.0'," + form.formatted(id, "'" + "t".repeat(5 - i) + "'") + "}");
            }
        }
    }

    @Test
    void aCancellationGetsTheRequestThatItsReceiverKnows() {
        Envelope message = having("'method':'notifications/cancelled','params':{'requestId':'é','reason':'é'}");

        Envelope named = message.withCancelledRequest(SEVEN);

        assertThat(named.cancelledRequest()).contains(SEVEN);
        assertThat(named.withCancelledRequest(SEVEN)).isSameAs(named);
        assertThat(text(named.bytes()))
                .isEqualTo(
                        "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':7,'reason':'é'}}");
        assertThatIllegalStateException().isThrownBy(() -> message.withProgressToken(SEVEN));
    }

    @Test
    void anIdIsToldAsItsSenderHasSpelledIt() {
        assertThat(having("'id':'\\u0061','method':'x'").spelledId()).contains("\"\\u0061\"");
        assertThat(having("'id':null,'error':{}").spelledId()).contains("null");
        assertThat(having("'error':{}").spelledId()).isEmpty();
    }

    @Test
    void oneLineHasNoLineEndsAndIsOtherwiseTheSame() {
        Envelope wrapped = message("{\r\n'jsonrpc':\n'2.0','id':7,\t'result':{'x':'a\\nb'}\n}");
        Envelope straight = having("'id':7,'result':{'x':'a\\nb'}");

        assertThat(text(wrapped.onOneLine())).isEqualTo("{  'jsonrpc': '2.0','id':7,\t'result':{'x':'a\\nb'} }");
        assertThat(text(wrapped.bytes())).contains("\r\n");
        assertThat(straight.onOneLine()).isSameAs(straight.bytes());
    }
}
