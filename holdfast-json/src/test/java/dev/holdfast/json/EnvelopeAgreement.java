package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.json.EnvelopeReader.Batch;
import dev.holdfast.json.EnvelopeReader.Malformed;
import dev.holdfast.json.EnvelopeReader.Parsed;
import dev.holdfast.json.EnvelopeReader.Single;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.stream.Collectors;

/** What must hold of the envelope reader whatever the body: it agrees with the reference, and its spans are right. */
final class EnvelopeAgreement {
    private final EnvelopeReader reader = new EnvelopeReader();

    /** Reads a body, and fails where it is not read as it should be. */
    Parsed on(byte[] body) {
        Parsed parsed = reader.read(body.clone());
        assertThat(describe(parsed)).isEqualTo(ReferenceReader.describe(body));
        check(parsed);
        return parsed;
    }

    private void check(Parsed parsed) {
        if (parsed instanceof Malformed malformed) {
            assertThat(malformed.code()).isIn(JsonRpc.PARSE_ERROR, JsonRpc.INVALID_REQUEST);
            assertThat(malformed.message()).isNotBlank().doesNotContain("Exception", "jackson", "JsonToken", "java.");
        } else if (parsed instanceof Single single) {
            check(single.message());
        } else if (parsed instanceof Batch batch) {
            batch.messages().forEach(this::check);
        }
    }

    /** What was read can be read again alone, its spans hold what they should, and splicing changes what it should. */
    private void check(Envelope message) {
        byte[] bytes = message.bytes();
        String facts = ReferenceReader.describe(message);
        assertThat(ReferenceReader.describe(bytes)).isEqualTo(facts);
        assertThat(ReferenceReader.describe(message.onOneLine())).isEqualTo(facts);
        assertThat(new String(message.onOneLine(), UTF_8)).doesNotContain("\n", "\r");
        for (Span span : List.of(message.idSpan(), message.subjectSpan())) {
            if (span.present()) {
                String value = new String(bytes, span.from(), span.length(), UTF_8);
                assertThat(value).isEqualTo(value.strip()).isNotEmpty();
            }
        }
        RequestId other = JsonRpc.stringId("other-日");
        if (message.id().isPresent()) {
            Envelope renamed = same(message.withId(other));
            assertThat(renamed.id()).contains(other);
            assertThat(ReferenceReader.describe(same(renamed.withId(message.id().orElseThrow()))))
                    .isEqualTo(facts);
        }
        message.progressToken().ifPresent(token -> {
            Envelope renamed = same(message.withProgressToken(other));
            assertThat(renamed.progressToken()).contains(other);
            assertThat(ReferenceReader.describe(same(renamed.withProgressToken(token))))
                    .isEqualTo(facts);
        });
        message.cancelledRequest().ifPresent(request -> {
            Envelope renamed = same(message.withCancelledRequest(other));
            assertThat(renamed.cancelledRequest()).contains(other);
            assertThat(ReferenceReader.describe(same(renamed.withCancelledRequest(request))))
                    .isEqualTo(facts);
        });
    }

    /** What was made of a message is what would be read of its bytes. */
    private Envelope same(Envelope made) {
        Envelope read = reader.message(made.bytes());
        assertThat(ReferenceReader.describe(made)).isEqualTo(ReferenceReader.describe(read));
        assertThat(made.idSpan()).isEqualTo(read.idSpan());
        assertThat(made.subjectSpan()).isEqualTo(read.subjectSpan());
        return made;
    }

    private static String describe(Parsed parsed) {
        if (parsed instanceof Malformed malformed) {
            return malformed.code() == JsonRpc.PARSE_ERROR ? "no JSON" : "no message";
        }
        return parsed instanceof Batch batch
                ? batch.messages().stream().map(ReferenceReader::describe).collect(Collectors.joining("\n"))
                : ReferenceReader.describe(((Single) parsed).message());
    }
}
