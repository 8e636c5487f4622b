package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.InboundMessage;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What those who follow calls read in requests and answers. */
class CallFactsTest {
    private static byte[] json(String text) {
        return text.replace('\'', '"').getBytes(UTF_8);
    }

    @Test
    void nameResourceAndTraceAreReadWhereverTheyStand() {
        CallFacts facts = CallFacts.of(json("{'id':1,'params':{'arguments':{'name':'no','_meta':{'traceparent':'no'}},"
                + "'_meta':{'progressToken':1,'other':{'traceparent':'no'},'baggage':'a=b','traceparent':'00-1-2-01'},"
                + "'uri':'file:///a','name':'weather'},'method':'tools/call','name':'no'}"));

        assertThat(facts.name()).contains("weather");
        assertThat(facts.uri()).contains("file:///a");
        assertThat(facts.trace()).isEqualTo(Map.of("traceparent", "00-1-2-01", "baggage", "a=b"));
    }

    @Test
    void whatIsAbsentNoStringOrTooLongIsEmpty() {
        CallFacts none = new CallFacts(Optional.empty(), Optional.empty(), Map.of());

        assertThat(CallFacts.of(json("{'id':1,'method':'ping'}"))).isEqualTo(none);
        assertThat(CallFacts.of(json("{'params':[1]}"))).isEqualTo(none);
        assertThat(CallFacts.of(json("{'params':{'name':{'a':1},'uri':7,'_meta':'x'}}")))
                .isEqualTo(none);
        assertThat(CallFacts.of(json("{'params':{'name':'" + "x".repeat(CallFacts.MOST_CHARS + 1) + "'}}")))
                .isEqualTo(none);
        assertThat(CallFacts.of(json("[]"))).isEqualTo(none);
        assertThat(CallFacts.of(json("{'params':{'name':"))).isEqualTo(none);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'id':1,'method':'tools/call','params':{'name':'weather','arguments':{'name':'no'}}}",
                " { 'params' :\t{ 'arguments' : [ { 'name' : 'no' } , '}' , ']{' , 1.5e3 , true , null ] , 'name' :\n'weather' } }",
                "{'params':{'arguments':{'text':'\\\"name\\\":\\\"no\\\"\\\\'},'_meta':{'name':'no'},'name':'weather'},'name':'no'}",
                "{'params':{'arguments':{},'n\\u0061me':'weath\\u0065r'}}",
                "{'par\\u0061ms':{'name':'weather'},'name':'no'}",
                "{'params':{'':{},'nam':'no','namex':'no','name':'weather'}}"
            })
    void theNameIsFoundWithoutReadingTheRest(String request) {
        assertThat(CallFacts.named(json(request))).hasValue("weather");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'id':1,'method':'ping'}",
                "{'params':null,'name':'no'}",
                "{'params':{},'name':'no'}",
                "{'params':{'arguments':{'name':'no'}}}",
                "{'params':{'name':7}}",
                "{'params':{'name':{'name':'no'}}}",
                "{'params':{'name':",
                "{'params",
                "[]",
                ""
            })
    void whereThereIsNoneNoneIsFound(String request) {
        assertThat(CallFacts.named(json(request))).isEmpty();
    }

    @Test
    void whoHasReadTheRequestHasFoundTheName() {
        Envelope request = MessageText.having("'id':1,'method':'tools/call','params':{'n\\u0061me':'weather'}");
        assertThat(request.name()).contains("weather");
        assertThat(CallFacts.named(request.inbound(InboundMessage.NO_CONTEXT))).isSameAs(request.name());
        assertThat(CallFacts.named(request.inbound(InboundMessage.NO_CONTEXT).withoutContext()))
                .contains("weather");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "'id':1,'method':'tools/call','params':{'name':'weather','arguments':{'uri':'no'}}",
                "'id':1,'method':'tools/call','params':{'_meta':{'traceparent':'00-1-2-01'},'name':'weather'}",
                "'id':1,'method':'tools/call','params':{'_m\\u0065ta':{'traceparent':'00-1-2-01'},'name':'weather'}",
                "'id':1,'method':'resources/read','params':{'uri':'file:///a'}",
                "'id':1,'method':'ping'"
            })
    void whatTheEnvelopeKnowsIsNotReadOnceMore(String members) {
        Envelope request = MessageText.having(members);
        assertThat(CallFacts.of(request.inbound(InboundMessage.NO_CONTEXT))).isEqualTo(CallFacts.of(request.bytes()));
    }

    @Test
    void aNameMayBeOfAnyLengthAndScript() {
        String name = "\u00e9\u4e16\ud83d\ude00".repeat(1_000);
        assertThat(CallFacts.named(json("{'params':{'name':'" + name + "'}}"))).hasValue(name);
    }

    @Test
    void anErrorHasItsCodeAndItsMessage() {
        AnswerFacts facts = AnswerFacts.ofError(json("{'id':1,'error':{'message':'no such tool','code':-32602}}"));

        assertThat(facts).isEqualTo(new AnswerFacts(Optional.of("-32602"), Optional.of("no such tool"), false));
        assertThat(AnswerFacts.ofError(json("{'error':{}}")).code()).contains("unknown");
    }

    @Test
    void aToolSaysThatItHasFailed() {
        assertThat(AnswerFacts.ofToolResult(json("{'result':{'content':[{'isError':true}],'isError':true}}"))
                        .toolError())
                .isTrue();
        assertThat(AnswerFacts.ofToolResult(json("{'result':{'content':[{'isError':true}]}}")))
                .isEqualTo(AnswerFacts.done());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'result':{'isError':true,'content':[]}}",
                "{'result':{'content':[],'structuredContent':{'isError':false},'isError' :\n true}}",
                "{'result':{'content':[{'text':'isErrorisError\\'isError\\':false'}],'isError':true},'id':1}"
            })
    void whereverItSaysSo(String answer) {
        assertThat(AnswerFacts.ofToolResult(json(answer)).toolError()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'result':{'isError':false}}",
                "{'result':{'isError':'true'}}",
                "{'result':{'structuredContent':{'isError':true},'isError':false}}",
                "{'result':{'content':[{'text':'\\'isError\\':true'}]}}",
                "{'isError':true,'result':{}}",
                "{'result':{'isError'",
                "'isError':t",
                ""
            })
    void whatOnlyLooksSoIsNoFailure(String answer) {
        assertThat(AnswerFacts.ofToolResult(json(answer)).toolError()).isFalse();
    }

    @Test
    void aListNamesItsTools() {
        assertThat(AnswerFacts.toolNames(json("{'result':{'tools':[{'name':'a'},{'x':1},{'name':'b'}]}}")))
                .containsExactly("a", "b");
    }
}
