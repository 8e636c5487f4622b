package dev.holdfast.json;

import static dev.holdfast.json.MessageText.json;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.RequestId;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The id of a request that cannot be taken. */
class AskedIdTest {
    private static String asked(byte[] body) {
        return new EnvelopeReader()
                .asked(body)
                .map(RequestId::token)
                .orElse("none")
                .replace('"', '\'');
    }

    private static String asked(String body) {
        return asked(json(body));
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            {'jsonrpc':'2.0','id':1,'method':'x'}               | 1
            {'jsonrpc':'2.0','id': null ,'method':'x'}          | null
            {'jsonrpc':'2.0','id':-1.50e3,'method':'x'}         | -1.50e3
            {'jsonrpc':'2.0','id':'\\u0061\\/','method':'x'}     | '\\u0061\\/'
            {'jsonrpc':'2.0','id':1,'params':[]}                | 1
            {'jsonrpc':'2.0','id':1,'method':'x','params':{'y': | 1
            {'jsonrpc':'2.0','method':'x','id':12,              | 12
            {'jsonrpc':'2.0','id':1,'method':'x'} {}            | 1
            {'result':null,'jsonrpc':'2.0','id':1,'method':'x','params':NaN} | 1
            """)
    void itIsToldAsItIsSpelledWhateverElseIsWrong(String body, String id) {
        assertThat(asked(body)).isEqualTo(id);
        assertThat(asked("\ufeff" + body)).isEqualTo(id);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "12",
                "[{'jsonrpc':'2.0','id':1,'method':'x'}]",
                "{'id':1,'method':'x'}",
                "{'jsonrpc':'2.0','id':1}",
                "{'jsonrpc':'2.0','method':'x'}",
                "{'jsonrpc':'2.0','id':1,'result':{}}",
                "{'jsonrpc':'2.0','id':1,'method':'x','error':{}}",
                "{'jsonrpc':'2.0','id':1,'id':1,'method':'x'}",
                "{'jsonrpc':'2.0','id':{'a':1},'method':'x'}",
                "{'jsonrpc':'2.0','id':true,'method':'x'}",
                "{'jsonrpc':'2.0','method':'x','id':1",
                "{'jsonrpc':'2.0','method':'x','id':'1",
                "{'jsonrpc':'2.0','method':'x','id':nul",
            })
    void whatIsNoRequestOrDoesNotTellItHasNone(String body) {
        assertThat(asked(body)).isEqualTo("none");
    }

    @Test
    void oneThatIsTooLongForARequestIsToldUpToABound() {
        String most = "'" + "a".repeat((64 << 10) - 2) + "'";

        assertThat(asked("{'jsonrpc':'2.0','method':'x','id':" + most + "}")).isEqualTo(most);
        assertThat(asked("{'jsonrpc':'2.0','method':'x','id':" + most.replaceFirst("a", "aa") + "}"))
                .isEqualTo("none");
    }

    @Test
    void aStartMayEndWithinACharacter() {
        byte[] body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"y\":\"\u65e5".getBytes(UTF_8);

        assertThat(asked(Arrays.copyOf(body, body.length - 1))).isEqualTo("1");
    }
}
