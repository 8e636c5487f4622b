package dev.holdfast.json;

import static dev.holdfast.json.MessageText.at;
import static dev.holdfast.json.MessageText.having;
import static dev.holdfast.json.MessageText.json;
import static dev.holdfast.json.MessageText.malformed;
import static dev.holdfast.json.MessageText.message;
import static dev.holdfast.json.MessageText.read;
import static dev.holdfast.json.MessageText.text;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.EnvelopeReader.Batch;
import dev.holdfast.json.EnvelopeReader.Malformed;
import dev.holdfast.json.EnvelopeReader.Parsed;
import dev.holdfast.json.EnvelopeReader.Single;
import dev.holdfast.spi.RequestId;
import java.lang.management.ManagementFactory;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvelopeReaderTest {
    private static final String PING = "{'jsonrpc':'2.0','id':1,'method':'ping'}";

    @Test
    void aMessageThatFillsTheBodyIsNotCopied() {
        byte[] body = json(PING);

        assertThat(new EnvelopeReader().read(body))
                .isInstanceOfSatisfying(
                        Single.class,
                        single -> assertThat(single.message().bytes()).isSameAs(body));
    }

    @Test
    void whiteSpaceAndAByteOrderMarkAroundTheMessageAreCutOff() {
        assertThat(message("\uFEFF\r\n\t " + PING + " \n").bytes()).isEqualTo(json(PING));
    }

    @Test
    void aBatchKeepsOrderAndEachMessageItsOwnBytes() {
        Parsed parsed = read("[ {'é':1,'jsonrpc':'2.0','id':'日','method':'ping'} ,\n" + PING
                + ",{'jsonrpc':'2.0','method':'notifications/x'},{'jsonrpc':'2.0','id':1,'result':{}}]");

        assertThat(parsed).isInstanceOf(Batch.class);
        Batch batch = (Batch) parsed;
        assertThat(batch.messages())
                .extracting(Envelope::toString)
                .containsExactly("REQUEST ping \"?\"", "REQUEST ping 1", "NOTIFICATION notifications/x", "RESPONSE 1");
        Envelope first = batch.messages().get(0);
        Envelope second = batch.messages().get(1);
        assertThat(at(first, first.idSpan())).isEqualTo("'日'");
        assertThat(at(second, second.idSpan())).isEqualTo("1");
        assertThat(text(second.bytes())).isEqualTo(PING);
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            ``                       | the body is empty
            ` \n\t `                 | the body is empty
            {                        | the body ends in the middle of its JSON, after 1 bytes
            {'id                     | the body ends in the middle of its JSON, after 4 bytes
            {'id':'\\u00             | the body ends in the middle of its JSON, after 11 bytes
            {'id':1                  | the body ends in the middle of its JSON, after 7 bytes
            [{},                     | the body ends in the middle of its JSON, after 4 bytes
            hello                    | the body is not JSON near byte 0
            {'a':tru}                | the body is not JSON near byte 5
            {'a':01}                 | the body is not JSON near byte 6
            {'a':+1}                 | the body is not JSON near byte 6
            {'a':.5}                 | the body is not JSON near byte 5
            {'a':NaN}                | the body is not JSON near byte 8
            {'a':1,}                 | the body is not JSON near byte 7
            {a:1}                    | the body is not JSON near byte 1
            {'a':'\\x'}              | the body is not JSON near byte 7
            {'a':`\u0001`}           | the body is not JSON near byte 5
            {'a':1]                  | the body is not JSON near byte 6
            {'a' 1}                  | the body is not JSON near byte 5
            {/**/}                   | the body is not JSON near byte 1
            'abc                     | the body ends in the middle of its JSON, after 4 bytes
            12 x                     | the body goes on after its JSON at byte 3
            {} {}                    | the body goes on after its JSON at byte 3
            {}}                      | the body goes on after its JSON at byte 2
            {}x                      | the body goes on after its JSON at byte 2
            """)
    void whatIsNotJsonIsAParseErrorThatNamesThePlace(String body, String complaint) {
        assertThat(malformed(body)).isEqualTo(new Malformed(JsonRpc.PARSE_ERROR, complaint, Optional.empty()));
    }

    @Test
    void everyTruncationIsAParseErrorWhateverElseIsWrong() {
        byte[] body = json("{'id':null,'params':[1,{'é':'日\\u0061'}],'id':{},'x':[-1.5e-3,true,false,null]}");
        for (int length = 0; length < body.length; length++) {
            Malformed malformed = malformed(Arrays.copyOf(body, length));
            assertThat(malformed.code()).isEqualTo(JsonRpc.PARSE_ERROR);
        }
        assertThat(malformed(body).code()).isEqualTo(JsonRpc.INVALID_REQUEST);
    }

    @ParameterizedTest
    @ValueSource(strings = {"c080", "eda080", "f5808080", "80", "e697"})
    void whatIsNotUtf8IsAParseErrorAlsoWhereNobodyLooks(String hex) {
        String wrong = new String(HexFormat.of().parseHex(hex), ISO_8859_1);
        String body = "{'jsonrpc':'2.0','id':1,'method':'x','params':{'a':['" + wrong + "']}}";

        assertThat(malformed(body.replace('\'', '"').getBytes(ISO_8859_1)))
                .isEqualTo(new Malformed(
                        JsonRpc.PARSE_ERROR, "the body is not UTF-8 at byte " + body.indexOf(wrong), Optional.empty()));
    }

    @Test
    void noOtherEncodingIsGuessed() {
        for (Charset other :
                new Charset[] {UTF_16BE, UTF_16LE, Charset.forName("UTF-32BE"), Charset.forName("UTF-32LE")}) {
            String body = text(json(PING)).replace('\'', '"');
            assertThat(malformed(body.getBytes(other)).code()).isEqualTo(JsonRpc.PARSE_ERROR);
            assertThat(malformed(("\uFEFF" + body).getBytes(other)).code()).isEqualTo(JsonRpc.PARSE_ERROR);
        }
    }

    @Test
    void nestingIsBoundedAndTheBoundIsExact() {
        EnvelopeReader reader = new EnvelopeReader(4, 1);

        assertThat(reader.read(nested(3))).isInstanceOf(Single.class);
        assertThat(reader.read(nested(4)))
                .isEqualTo(new Malformed(
                        JsonRpc.PARSE_ERROR, "the body is nested deeper than 4 levels at byte 46", Optional.empty()));
        assertThat(new EnvelopeReader().read(nested(199))).isInstanceOf(Single.class);
        assertThat(new EnvelopeReader().read(nested(1_000_000))).isInstanceOf(Malformed.class);
        assertThat(new EnvelopeReader().read(json("[".repeat(1_000_000)))).isInstanceOf(Malformed.class);
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            12                                                     | a JSON-RPC message must be an object
            'x'                                                    | a JSON-RPC message must be an object
            null                                                   | a JSON-RPC message must be an object
            {}                                                     | jsonrpc must be "2.0", but is missing
            {'id':{},'jsonrpc':'2.0','method':'x'}                 | id must be a string of at most 512 characters or an integer of at most 64 digits
            {'id':1.0,'jsonrpc':'2.0','method':'x'}                | id must be a string of at most 512 characters or an integer of at most 64 digits
            {'id':1e3,'jsonrpc':'2.0','method':'x'}                | id must be a string of at most 512 characters or an integer of at most 64 digits
            {'id':true,'jsonrpc':'2.0','result':{}}                | id must be a string of at most 512 characters or an integer of at most 64 digits
            {'id':null,'jsonrpc':'2.0','method':'x'}               | id must not be null
            {'id':null,'jsonrpc':'2.0','result':{}}                | id must not be null
            {'jsonrpc':'2.0','result':{}}                          | a response must have an id
            {'jsonrpc':'2.0'}                                      | a message must have method, result or error
            {'jsonrpc':'2.0','id':1,'result':{},'method':'x'}      | a message must not have both method and result
            {'jsonrpc':'2.0','id':1,'error':{},'method':'x'}       | a message must not have both method and error
            {'jsonrpc':'2.0','id':1,'id':1,'method':'x'}           | id occurs twice
            {'jsonrpc':'2.0','id':1,'\\u0069d':2,'method':'x'}     | id occurs twice
            {'jsonrpc':'2.0','id':{},'params':[],'method':7}       | id must be a string of at most 512 characters or an integer of at most 64 digits
            {'jsonrpc':'2.0','jsonrpc':'2.0','method':'x'}         | jsonrpc occurs twice
            []                                                     | a batch must have at least one message
            [{'jsonrpc':'2.0','method':'x'},1]                     | message 2 of the batch: a JSON-RPC message must be an object
            [[{'jsonrpc':'2.0','method':'x'}]]                     | message 1 of the batch: a JSON-RPC message must be an object
            [{'jsonrpc':'2.0','id':1,'method':'x','params':[]}]    | message 1 of the batch: params must be an object
            """)
    void whatIsNoMessageIsAnInvalidRequestThatNamesTheFault(String body, String complaint) {
        assertThat(malformed(body)).isEqualTo(new Malformed(JsonRpc.INVALID_REQUEST, complaint, Optional.empty()));
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            {'jsonrpc':'2.0','id':1,'params':{}}                                 | a message must have method, result or error
            {'id':1,'method':'x'}                                                | jsonrpc must be "2.0", but is missing
            {'jsonrpc':2.0,'id':1,'method':'x'}                                  | jsonrpc must be "2.0"
            {'jsonrpc':'1.0','method':'x','id':1}                                | jsonrpc must be "2.0"
            {'jsonrpc':'2.0','method':7,'id':1}                                  | method must be a string of 1 to 512 characters
            {'jsonrpc':'2.0','method':null,'id':1}                               | method must be a string of 1 to 512 characters
            {'jsonrpc':'2.0','method':'','id':1}                                 | method must be a string of 1 to 512 characters
            {'jsonrpc':'2.0','method':'x','params':[],'id':1}                    | params must be an object
            {'jsonrpc':'2.0','method':'x','params':'y','id':1}                   | params must be an object
            {'jsonrpc':'2.0','method':'x','method':'x','id':1}                   | method occurs twice
            {'jsonrpc':'2.0','params':{},'params':{},'method':'x','id':1}        | params occurs twice
            {'jsonrpc':'2.0','params':{},'params':null,'method':'x','id':1}      | params occurs twice
            {'jsonrpc':'2.0','params':{'_meta':{},'_meta':{}},'method':'x','id':1} | params._meta occurs twice
            {'jsonrpc':'2.0','params':{'name':'a','name':'b'},'method':'x','id':1} | params.name occurs twice
            {'jsonrpc':'2.0','params':{'uri':'a','uri':'b'},'method':'x','id':1} | params.uri occurs twice
            """)
    void theFaultOfARequestCarriesItsId(String body, String complaint) {
        assertThat(malformed(body))
                .isEqualTo(new Malformed(JsonRpc.INVALID_REQUEST, complaint, Optional.of(new RequestId("1"))));
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            {'id':1,'result':{}}                                   | jsonrpc must be "2.0", but is missing
            {'result':null,'id':1,'jsonrpc':'1.0'}                 | jsonrpc must be "2.0"
            {'id':1,'error':{'code':1,'message':'m'}}              | jsonrpc must be "2.0", but is missing
            {'jsonrpc':'2.0','id':1,'result':{},'error':{}}        | a response must not have both result and error
            {'jsonrpc':'2.0','id':1,'error':'no'}                  | error must be an object
            {'jsonrpc':'2.0','id':1,'error':{},'error':null}       | error occurs twice
            {'jsonrpc':'2.0','id':1.0,'method':'ping'}             | id must be a string of at most 512 characters or an integer of at most 64 digits
            """)
    void theFaultOfAnAnswerCarriesNoIdAndNeitherDoesOneWithoutAnInteger(String body, String complaint) {
        assertThat(malformed(body)).isEqualTo(new Malformed(JsonRpc.INVALID_REQUEST, complaint, Optional.empty()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'jsonrpc':'2.0','id':1}",
                "{'id':1,'content':[],'jsonrpc':'2.0'}",
                "{'jsonrpc':'2.0','id':1,'error':null}",
            })
    void whatNeitherAsksNorAnswersCarriesItsId(String body) {
        assertThat(malformed(body))
                .isEqualTo(new Malformed(
                        JsonRpc.INVALID_REQUEST,
                        "a message must have method, result or error",
                        Optional.of(new RequestId("1"))));
    }

    @Test
    void tooLongAnIdOrMethodIsRefused() {
        assertThat(malformed("{'jsonrpc':'2.0','method':'x','id':'" + "a".repeat(513) + "'}")
                        .message())
                .startsWith("id must be");
        assertThat(malformed("{'jsonrpc':'2.0','method':'x','id':" + "1".repeat(65) + "}")
                        .message())
                .startsWith("id must be");
        assertThat(malformed("{'jsonrpc':'2.0','method':'" + "x".repeat(513) + "'}")
                        .message())
                .startsWith("method must be");
    }

    @Test
    void aBatchIsBoundedAndTheBoundIsExact() {
        EnvelopeReader reader = new EnvelopeReader(10, 2);
        String note = "{'jsonrpc':'2.0','method':'x'}";

        assertThat(reader.read(json("[" + note + "," + note + "]"))).isInstanceOf(Batch.class);
        assertThat(reader.read(json("[" + note + "," + note + "," + note + "]")))
                .isEqualTo(new Malformed(
                        JsonRpc.INVALID_REQUEST, "a batch must not have more than 2 messages", Optional.empty()));
        assertThat(reader.read(json("[" + note + "," + note + "," + note)))
                .isInstanceOfSatisfying(
                        Malformed.class,
                        malformed -> assertThat(malformed.code()).isEqualTo(JsonRpc.PARSE_ERROR));
    }

    @Test
    void noTwoRequestsOfABatchHaveTheSameId() {
        assertThat(malformed("[" + PING + ",{'jsonrpc':'2.0','id':'1','method':'x'}," + PING + "]"))
                .isEqualTo(new Malformed(
                        JsonRpc.INVALID_REQUEST,
                        "message 3 of the batch: its id is that of an earlier request in the batch",
                        Optional.empty()));
    }

    @Test
    void largeContentIsNoReasonToRefuse() {
        String text = "A".repeat(25_000_000);
        String name = "n".repeat(100_000);
        String number = "1".repeat(50_000);
        Envelope message = having("'id':1,'result':{'data':'" + text + "','" + name + "':" + number + ",'f':-1."
                + number + "e" + number + "}");

        assertThat(message.id()).contains(new RequestId("1"));
    }

    @Test
    void manyNamesAreNoReasonToRefuse() {
        EnvelopeReader reader = new EnvelopeReader();
        for (int body = 0; body < 50; body++) {
            StringBuilder members = new StringBuilder("'id':1,'result':{");
            for (int i = 0; i < 2_000; i++) {
                members.append("'name-").append(body).append('-').append(i).append("':1,");
            }
            assertThat(reader.read(json("{" + members + "'last':1},'jsonrpc':'2.0'}")))
                    .isInstanceOf(Single.class);
        }
    }

    @Test
    void longNamesAreForgotten() {
        EnvelopeReader reader = new EnvelopeReader();
        long before = usedMemory();
        for (int i = 0; i < 100; i++) {
            String name = (i + "-").repeat(300_000);
            assertThat(reader.read(json("{'jsonrpc':'2.0','id':1,'result':{'" + name + "':1}}")))
                    .isInstanceOf(Single.class);
        }

        assertThat(usedMemory() - before).isLessThan(30_000_000);
        assertThat(reader.read(json(PING))).isInstanceOf(Single.class);
    }

    @Test
    void manyThreadsShareAReader() {
        EnvelopeReader reader = new EnvelopeReader();
        List<Boolean> right = IntStream.range(0, 50_000)
                .parallel()
                .mapToObj(i -> reader.read(json("{'jsonrpc':'2.0','id':" + i + ",'result':{'name-" + i + "':[]}}"))
                                instanceof Single single
                        && single.message().id().equals(Optional.of(new RequestId("" + i))))
                .toList();

        assertThat(right).doesNotContain(false);
    }

    private static long usedMemory() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** A message whose params nest so deep, the message's own object not counted. */
    private static byte[] nested(int levels) {
        String arrays = "[".repeat(levels - 1) + "]".repeat(levels - 1);
        return ("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":" + (levels == 1 ? "1" : arrays) + "}}")
                .getBytes(UTF_8);
    }
}
