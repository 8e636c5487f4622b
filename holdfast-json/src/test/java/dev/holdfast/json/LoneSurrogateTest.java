package dev.holdfast.json;

import static dev.holdfast.json.MessageText.at;
import static dev.holdfast.json.MessageText.having;
import static dev.holdfast.json.MessageText.json;
import static dev.holdfast.json.MessageText.malformed;
import static dev.holdfast.json.MessageText.read;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Escapes that are half a character, as {@code JSON.stringify} writes them. */
class LoneSurrogateTest {
    private final EnvelopeAgreement agreement = new EnvelopeAgreement();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\\ud83d",
                "\\uDE00",
                "a\\ud83d",
                "\\ud83da",
                "\\ud83dé",
                "\\ud83d😀",
                "\\ude00\\ud83d",
                "\\ud83d\\ud83d\\ude00",
                "\\ud83d\\ude00\\ude00",
                "\\ud83d\\n",
                "\\ud83d\\u0041",
                "\\\\\\ud83d\\\"",
                "\\\\ud83d",
                "a long name that has more than sixty-four characters before its half a character \\udfff",
            })
    void passesInANameAsInAString(String half) {
        byte[] body = json("{'result':{'" + half + "' :'" + half + "','" + half + "':{'" + half
                + "':1}},'jsonrpc':'2.0','id':'" + half + "'}");

        assertThat(agreement.on(body)).isInstanceOfSatisfying(EnvelopeReader.Single.class, single -> {
            assertThat(single.message().bytes()).isEqualTo(body);
            assertThat(at(single.message(), single.message().idSpan())).isEqualTo("'" + half.replace('"', '\'') + "'");
        });
    }

    @Test
    void passesInANameOfTheEnvelopeAndIsNoOtherName() {
        assertThat(having("'id':1,'method':'x','params':{'uri\\ud800':'a','uri':'b','\\ud800uri':'c'},'id\\udc00':2")
                        .uri())
                .contains("b");
    }

    @Test
    void passesInEveryMessageOfABatch() {
        String message = "{'\\ud83d':1,'jsonrpc':'2.0','id':1,'result':{'\\ud83d':1}}";

        assertThat(agreement.on(json("\uFEFF[" + message + ", " + message + "]")))
                .isInstanceOfSatisfying(
                        EnvelopeReader.Batch.class,
                        batch -> assertThat(batch.messages())
                                .extracting(Envelope::bytes)
                                .containsOnly(json(message)));
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '`', delimiter = '|', textBlock = """
            {'\\ud83d':1,}           | the body is not JSON near byte 12
            {'\\ud83d':1             | the body ends in the middle of its JSON, after 11 bytes
            {'\\ud83d                | the body ends in the middle of its JSON, after 8 bytes
            {'\\ud83':1}             | the body is not JSON near byte 7
            {'\\ud83d' 1}            | the body is not JSON near byte 8
            '\\ud83d':1              | the body goes on after its JSON at byte 8
            """)
    void excusesNothingElse(String body, String complaint) {
        assertThat(malformed(body).message()).isEqualTo(complaint);
        assertThat(agreement.on(json(body))).isInstanceOf(EnvelopeReader.Malformed.class);
    }

    @Test
    void manyAreReadInTimeThatGrowsWithTheBody() {
        assertThat(read("{'jsonrpc':'2.0','id':1,'result':{" + "'\\ud83d':1,".repeat(1_000_000) + "'\\udc00':1}}"))
                .isInstanceOf(EnvelopeReader.Single.class);
    }
}
