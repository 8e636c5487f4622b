package dev.holdfast.json;

import static dev.holdfast.json.MessageText.json;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.EnvelopeReader.Malformed;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The ids of the requests that a body was to answer which cannot be read. */
class AnsweredIdsTest {
    private final EnvelopeReader reader = new EnvelopeReader(10, 10);

    private String answered(byte[] body) {
        assertThat(reader.read(body)).isInstanceOf(Malformed.class);
        return reader.answered(body).stream()
                .map(RequestId::token)
                .collect(Collectors.joining(" "))
                .replace('"', '\'');
    }

    private String answered(String body) {
        return answered(body.replace('\'', '"').getBytes(ISO_8859_1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'id':1,'result':{}}",
                "{'result':null,'id':1,'jsonrpc':'1.0'}",
                "{'id':1,'error':{'code':1,'message':'m'}}",
                "{'jsonrpc':'2.0','id':1,'result':{},'error':{}}",
                "{'jsonrpc':'2.0','id':1,'error':'no'}",
                "{'jsonrpc':'2.0','id':1,'error':{},'error':null}",
                "{'jsonrpc':'2.0','id':1,'method':'x','result':{}}",
                "{'jsonrpc':'2.0','id':1,'method':'x','error':{}}",
                "{'jsonrpc':'2.0','id':1,'id':1,'result':{}}",
                "{'jsonrpc':'2.0','id':1}",
                "{'id':1,'content':[],'jsonrpc':'2.0'}",
                "{'jsonrpc':'2.0','id':1,'error':null}",
            })
    void areTellableOfWhatIsNoMessage(String body) {
        assertThat(answered(body)).isEqualTo("1");
        assertThat(answered("\u00ef\u00bb\u00bf " + body)).isEqualTo("1");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'jsonrpc':'2.0','id':1,'result':{'x':DEEP}}",
                "{'result':{'x':DEEP},'jsonrpc':'2.0','id':1}",
                "{'error':{'x':DEEP,'y':{'id':2}} , 'jsonrpc' : '2.0' , 'id' : 1 }",
                "{'result':{'id':2,'x':NaN},'jsonrpc':'2.0','id':1}",
                "{'result':NaN,'jsonrpc':'2.0','id':1}",
                "{'result':{'x':'a\u0000b'},'jsonrpc':'2.0','id':1}",
                "{'result':{'x':'\\x \\\\'},'jsonrpc':'2.0','id':1}",
                "{'result':{'x':'\\'}],\\'id\\':2'},,'\\u006asonrpc':'2.0','\\u0069d':1}}}",
                "{'jsonrpc':'2.0','result':{'x':'\u00ff'},'id':1}",
                "{'id':1,'result':{'x':'\u00ff'}}",
                "{'jsonrpc':'2.0','id':1,'result':{'x':",
                "{'jsonrpc':'2.0','id':1,'result':{}} {}",
                "{'jsonrpc':'2.0','id':1,'result':{}} x",
            })
    void areTellableOfWhatIsNoJsonAtEitherEnd(String body) {
        assertThat(answered(body.replace("DEEP", "[".repeat(100_000) + "{'id':3}" + "]".repeat(100_000))))
                .isEqualTo("1");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'result':{'x':'say 'hi'},'jsonrpc':'2.0','id':1}",
                "{'result':{'x':[1,2},'jsonrpc':'2.0', 'id' :1 } ",
                "{'result':{'x':'a{'y':1},'id': 1,'jsonrpc':'2.0'}",
            })
    void areTellableAtTheEndWhereQuotesOrBracketsDoNotMatch(String body) {
        assertThat(answered(body)).isEqualTo("1");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "caf\u00e9",
                "x {'jsonrpc':'2.0','id':1,'result':NaN}",
                "{'jsonrpc':'2.0','id':1,'method':'x','params':{'x':'\u00ff','result':1}}",
                "{'jsonrpc':'2.0','id':1,'params':{'x':",
                "{'jsonrpc':'2.0','id':1,'x':",
                "{'id':1,'level':'info'}",
                "{'id':1,'method':'roots/list','result':{}}",
                "{'level':'error','method':'tools/call','id':1,'error':'retrying'}",
                "{'jsonrpc':'2.0','id':1,'method':'x','params':{'x':NaN},'result':null,'error':null}",
                "{'jsonrpc':'2.0','result':{'id':1,'x':NaN}}",
                "{{'id':1},'jsonrpc':'2.0','result':{}}",
                "{'jsonrpc':'2.0','id':null,'result':{}}",
                "{'jsonrpc':'2.0','id':{'id':1},'result':{}}",
                "{'jsonrpc':'2.0','id':1 2,'result':{}}",
                "{'jsonrpc':'2.0','id':'\u00ff','result':{}}",
                "{'result':{'jsonrpc':'2.0','id':1}",
                "{'result':{'x':[1},'id':1}",
                "{'result':{'x':[1},'jsonrpc':'2.0','id':",
                "{'method':'x','params':{'x':[1},'jsonrpc':'2.0','id':1}",
            })
    void areNoneWhereItAnswersNothingOrDoesNotTell(String body) {
        assertThat(answered(body)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "2.0, 2",
        "-0.000, 0",
        "2e0, 2",
        "2.50e1, 25",
        "110e-1, 11",
        "1.5, ''",
        "1e63, 1000000000000000000000000000000000000000000000000000000000000000",
        "1e64, ''",
        "1e999999999, ''",
        "1e99999999999, ''",
    })
    void areIntegersHoweverTheseAreWritten(String id, String answered) {
        assertThat(answered("{'jsonrpc':'2.0','id':" + id + ",'result':{}}")).isEqualTo(answered);
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            [{'jsonrpc':'2.0','id':1,'result':{}},{'id':77,'result':{}}]                     | 1 77
            [ {'id':1,'result':{}} ]                                                         | 1
            [{'jsonrpc':'2.0','id':1,'method':'x'}, {'result':NaN,'id':2},{'error':{},'id':'a'}] | 2 'a'
            {'id':1,'result':{}}{'jsonrpc':'2.0','id':2,'result':{}}                         | 1 2
            {'jsonrpc':'2.0','id':1,'id':2,'result':{}}                                      | 1 2
            """)
    void areThoseOfEveryMessage(String body, String answered) {
        assertThat(answered(body)).isEqualTo(answered);
    }

    @Test
    void areBounded() {
        String many = Arrays.toString(new int[100_000]).replace("0", "{'result':1,'id':N}");
        StringBuilder body = new StringBuilder();
        int next = 0;
        for (String part : many.split("N", -1)) {
            body.append(part).append(next++);
        }

        assertThat(reader.answered(json(body.toString()))).hasSize(1_000);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{",
                "[",
                "{'",
                "{'a':",
                "[{",
                "'",
                "\\",
                "{'id':1,",
                "{'result':{",
                "{'result':1,'id':'",
                "}",
                "'id':1}",
                " "
            })
    void takeTimeThatGrowsWithTheBody(String part) {
        for (String end : new String[] {"", ",'jsonrpc':'2.0','id':1}", "}", "'"}) {
            byte[] body = json("{'result':" + part.repeat((4 << 20) / part.length()) + end);

            Assertions.assertTimeout(Duration.ofSeconds(10), () -> {
                assertThat(reader.answered(body)).hasSizeLessThanOrEqualTo(1_000);
                assertThat(reader.asked(body)).isEmpty();
            });
        }
    }

    @Test
    void areLookedForInAnyBytes() {
        Random random = new Random(7);
        String[] parts = {
            "{",
            "}",
            "[",
            "]",
            "\"",
            ":",
            ",",
            "\\",
            " ",
            "\"id\"",
            "\"result\"",
            "\"jsonrpc\":\"2.0\"",
            "1",
            "\\u00",
            "\u00ff"
        };
        for (int i = 0; i < 100_000; i++) {
            StringBuilder body = new StringBuilder("{");
            for (int length = random.nextInt(20); length > 0; length--) {
                body.append(parts[random.nextInt(parts.length)]);
            }
            byte[] bytes = body.toString().getBytes(ISO_8859_1);

            assertThat(reader.answered(bytes)).hasSizeLessThan(20);
            assertThat(reader.asked(bytes)).isNotNull();
        }
    }
}
