package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.RequestId;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/** Reads the id of a message that cannot be read, by itself. */
final class IdToken {
    private static final int MAX_BYTES = 64 << 10;

    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(TokenStreamFactory.Feature.CHARSET_DETECTION)
            .streamReadConstraints(
                    StreamReadConstraints.builder().maxNumberLength(MAX_BYTES).build())
            .build();

    private IdToken() {}

    /** The id of the request that was to be answered, as a request may have it, though it may be spelled in another way. */
    static Optional<RequestId> canonical(byte[] body, Span span) {
        return read(body, span, cursor -> cursor.id().or(cursor::roundedId));
    }

    /** The id as it is spelled, also null and one that no request may have. */
    static Optional<RequestId> spelled(byte[] body, Span span) {
        return read(
                body,
                span,
                cursor -> cursor.at(JsonToken.VALUE_NULL) || cursor.at(JsonToken.VALUE_STRING) || cursor.atNumber()
                        ? Optional.of(new RequestId(new String(body, span.from(), span.to() - span.from(), UTF_8)))
                        : Optional.empty());
    }

    private static Optional<RequestId> read(byte[] body, Span span, Function<JsonCursor, Optional<RequestId>> reading) {
        if (span.to() - span.from() > MAX_BYTES) {
            return Optional.empty();
        }
        byte[] token = Arrays.copyOfRange(body, span.from(), span.to());
        if (Utf8.validEnd(token, 0) < token.length) {
            return Optional.empty();
        }
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), token)) {
            JsonCursor cursor = new JsonCursor(parser, 0);
            Optional<RequestId> id = cursor.next() ? reading.apply(cursor) : Optional.empty();
            return id.isPresent() && !cursor.next() ? id : Optional.empty();
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }
}
