package dev.holdfast.servlet;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/** Looks for one value in the {@code params} of a message that an {@link EnvelopeReader} has let pass, and reads no further. */
final class JsonPeek {
    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(TokenStreamFactory.Feature.CANONICALIZE_PROPERTY_NAMES)
            .build();

    private JsonPeek() {}

    /** A string among the params. */
    static Optional<String> text(byte[] message, String name) {
        return param(
                message,
                name,
                json -> json.currentToken() == JsonToken.VALUE_STRING
                        ? Optional.of(json.getString())
                        : Optional.empty());
    }

    /** A number among the params. */
    static OptionalDouble number(byte[] message, String name) {
        return param(
                        message,
                        name,
                        json -> json.currentToken().isNumeric()
                                ? Optional.of(json.getDoubleValue())
                                : Optional.<Double>empty())
                .map(OptionalDouble::of)
                .orElseGet(OptionalDouble::empty);
    }

    private static <T> Optional<T> param(byte[] message, String name, Function<JsonParser, Optional<T>> value) {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), message)) {
            return enter(json, "params") && enter(json, name) ? value.apply(json) : Optional.empty();
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }

    /** Moves to the value of a member of the next object; false if there is none. */
    private static boolean enter(JsonParser json, String member) {
        if (json.currentToken() == null) {
            json.nextToken();
        }
        if (json.currentToken() != JsonToken.START_OBJECT) {
            return false;
        }
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            boolean wanted = json.currentName().equals(member);
            json.nextToken();
            if (wanted) {
                return true;
            }
            json.skipChildren();
        }
        return false;
    }
}
