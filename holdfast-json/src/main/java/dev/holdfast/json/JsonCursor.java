package dev.holdfast.json;

import dev.holdfast.spi.RequestId;
import java.math.BigDecimal;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.TokenStreamLocation;

/** A place in a body of JSON: moves on member by member, and says where in the body each value lies. */
final class JsonCursor {
    private static final int MAX_ID_CHARS = 512;
    private static final int MAX_ID_DIGITS = 64;
    private static final int LONG_NAME_CHARS = 64;

    private final JsonParser json;
    private final int origin;
    private boolean longNames;
    private int tokens;

    /** A cursor before the first token; {@code origin} is the index of the parser's first byte in the body. */
    JsonCursor(JsonParser json, int origin) {
        this.json = json;
        this.origin = origin;
    }

    /** Moves to the next token, and returns whether there is one. */
    boolean next() {
        return json.nextToken() != null;
    }

    boolean at(JsonToken token) {
        return json.currentToken() == token;
    }

    boolean atNumber() {
        return at(JsonToken.VALUE_NUMBER_INT) || at(JsonToken.VALUE_NUMBER_FLOAT);
    }

    /** Moves on to the value of the object's next member, or to the object's end. */
    boolean nextMember() {
        if (json.nextToken() != JsonToken.PROPERTY_NAME) {
            return false;
        }
        noteName();
        json.nextToken();
        return true;
    }

    /** The name of the member whose value the cursor is at. */
    String name() {
        return json.currentName();
    }

    /** How many tokens it has passed within values that it skipped. */
    int tokens() {
        return tokens;
    }

    /** Whether a member had a name of unusual length. */
    boolean longNames() {
        return longNames;
    }

    /** The index of the first byte of the token the cursor is at. */
    int from() {
        return index(json.currentTokenLocation());
    }

    /** The index after the last byte that was read. */
    int position() {
        return index(json.currentLocation());
    }

    /** The index of what the parser could not read. */
    int faultAt(JacksonException fault) {
        return Optional.ofNullable(fault.getLocation()).map(this::index).orElseGet(() -> position() - 1);
    }

    /** Moves to the end of the value the cursor is at. */
    void skip() {
        for (int depth = json.currentToken().isStructStart() ? 1 : 0; depth > 0; ) {
            JsonToken token = json.nextToken();
            tokens++;
            if (token == JsonToken.PROPERTY_NAME) {
                noteName();
            } else if (token.isStructStart()) {
                depth++;
            } else if (token.isStructEnd()) {
                depth--;
            }
        }
    }

    /** Moves to the end of the value the cursor is at, and returns where the value lies. */
    Span skipped() {
        int from = from();
        skip();
        json.finishToken();
        return new Span(from, position());
    }

    /** The string at the cursor; empty when there is another value, which is passed over. */
    Optional<String> text() {
        if (at(JsonToken.VALUE_STRING)) {
            return Optional.of(
                    KnownText.of(json.getStringCharacters(), json.getStringOffset(), json.getStringLength()));
        }
        skip();
        return Optional.empty();
    }

    /** The id at the cursor in canonical spelling; empty when there is another value, or too long a one. The cursor stays. */
    Optional<RequestId> id() {
        if (at(JsonToken.VALUE_STRING)) {
            String text = json.getString();
            return text.length() > MAX_ID_CHARS ? Optional.empty() : Optional.of(JsonText.id(text));
        }
        if (at(JsonToken.VALUE_NUMBER_INT) && json.getStringLength() <= MAX_ID_DIGITS) {
            return Optional.of(integer(json.getString()));
        }
        return Optional.empty();
    }

    /**
     * The integer that is written with a fraction of zeros or an exponent, 2 for {@code 2.0} or {@code 0.2e1}, which no id may be
     * written as; empty when there is another value, or too long a one. The cursor stays.
     */
    Optional<RequestId> roundedId() {
        if (!at(JsonToken.VALUE_NUMBER_FLOAT) || json.getStringLength() > MAX_ID_DIGITS) {
            return Optional.empty();
        }
        BigDecimal number;
        try {
            number = new BigDecimal(json.getString()).stripTrailingZeros();
        } catch (NumberFormatException e) {
            return Optional.empty(); // an exponent that is no int
        }
        long digits = (long) number.precision() - number.scale();
        return number.scale() <= 0 && digits <= MAX_ID_DIGITS
                ? Optional.of(integer(number.toBigInteger().toString()))
                : Optional.empty();
    }

    private static RequestId integer(String digits) {
        return new RequestId(digits.equals("-0") ? "0" : digits);
    }

    private void noteName() {
        longNames |= json.currentName().length() > LONG_NAME_CHARS;
    }

    private int index(TokenStreamLocation location) {
        return origin + (int) location.getByteOffset();
    }
}
