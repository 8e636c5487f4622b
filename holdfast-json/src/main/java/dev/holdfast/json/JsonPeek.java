package dev.holdfast.json;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Function;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/** Looks for one value in a message that an {@link EnvelopeReader} has let pass, and reads no further. */
final class JsonPeek {
    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(TokenStreamFactory.Feature.CANONICALIZE_PROPERTY_NAMES)
            .build();

    private JsonPeek() {}

    /** A string among the params. */
    static Optional<String> text(byte[] message, String name) {
        return string(message, "params", name);
    }

    /** A string. */
    static Optional<String> string(byte[] message, String... path) {
        return value(
                message,
                json -> json.currentToken() == JsonToken.VALUE_STRING
                        ? Optional.of(json.getString())
                        : Optional.empty(),
                path);
    }

    /** Whether there is an object. */
    static boolean isObject(byte[] message, String... path) {
        return value(message, json -> Optional.of(json.currentToken() == JsonToken.START_OBJECT), path)
                .orElse(false);
    }

    /** A number among the params. */
    static OptionalDouble number(byte[] message, String name) {
        return value(
                        message,
                        json -> json.currentToken().isNumeric()
                                ? Optional.of(json.getDoubleValue())
                                : Optional.<Double>empty(),
                        "params",
                        name)
                .map(OptionalDouble::of)
                .orElseGet(OptionalDouble::empty);
    }

    /** Whether there is the value {@code true}. */
    static boolean isTrue(byte[] message, String... path) {
        return value(message, json -> Optional.of(json.currentToken() == JsonToken.VALUE_TRUE), path)
                .orElse(false);
    }

    /** A string or a number, as text. */
    static Optional<String> scalar(byte[] message, String... path) {
        return value(
                message,
                json -> json.currentToken() == JsonToken.VALUE_STRING
                                || json.currentToken().isNumeric()
                        ? Optional.of(json.getString())
                        : Optional.empty(),
                path);
    }

    /** A value in a form that does not depend on the order of members and on white space. */
    static Optional<String> canonical(byte[] message, String... path) {
        return value(message, json -> Optional.of(canonical(json)), path);
    }

    private static String canonical(JsonParser json) {
        return switch (json.currentToken()) {
            case START_OBJECT -> {
                Map<String, String> members = new TreeMap<>();
                while (json.nextToken() != JsonToken.END_OBJECT) {
                    String name = JsonText.quoted(json.currentName());
                    json.nextToken();
                    members.put(name, canonical(json));
                }
                yield members.toString();
            }
            case START_ARRAY -> {
                List<String> elements = new ArrayList<>();
                while (json.nextToken() != JsonToken.END_ARRAY) {
                    elements.add(canonical(json));
                }
                yield elements.toString();
            }
            case VALUE_STRING -> JsonText.quoted(json.getString());
            default -> json.getString();
        };
    }

    private static <T> Optional<T> value(byte[] message, Function<JsonParser, Optional<T>> value, String... path) {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), message)) {
            for (String member : path) {
                if (!enter(json, member)) {
                    return Optional.empty();
                }
            }
            return value.apply(json);
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
