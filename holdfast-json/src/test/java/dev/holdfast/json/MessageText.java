package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.json.EnvelopeReader.Malformed;
import dev.holdfast.json.EnvelopeReader.Parsed;
import dev.holdfast.json.EnvelopeReader.Single;

/** MessageText as tests write them: with single quotes, or members only. */
final class MessageText {
    private static final EnvelopeReader READER = new EnvelopeReader();

    private MessageText() {}

    /** The text as UTF-8, single quotes taken for double ones. */
    static byte[] json(String text) {
        return text.replace('\'', '"').getBytes(UTF_8);
    }

    static Parsed read(String text) {
        return READER.read(json(text));
    }

    /** The one message that the text is. */
    static Envelope message(String text) {
        Parsed parsed = read(text);
        assertThat(parsed).isInstanceOf(Single.class);
        return ((Single) parsed).message();
    }

    /** The message with these members beside {@code jsonrpc}. */
    static Envelope having(String members) {
        return message("{'jsonrpc':'2.0'," + members + "}");
    }

    static Malformed malformed(byte[] body) {
        Parsed parsed = READER.read(body);
        assertThat(parsed).isInstanceOf(Malformed.class);
        return (Malformed) parsed;
    }

    static Malformed malformed(String text) {
        return malformed(json(text));
    }

    /** What of a message lies in this span, double quotes made single. */
    static String at(Envelope message, Span span) {
        return text(message.bytes()).isEmpty() || !span.present()
                ? ""
                : new String(message.bytes(), span.from(), span.to() - span.from(), UTF_8).replace('"', '\'');
    }

    static String text(byte[] bytes) {
        return new String(bytes, UTF_8).replace('"', '\'');
    }
}
