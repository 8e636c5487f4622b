package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

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
}
