package dev.holdfast.json;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/** Looks for values in a message that an {@link EnvelopeReader} has let pass, without a tree. */
final class JsonPeek {
    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(TokenStreamFactory.Feature.CANONICALIZE_PROPERTY_NAMES)
            .build();

    private JsonPeek() {}

    /** Takes a member of an object; may move the parser on to the end of its value. */
    interface MemberLook {
        void at(String name, JsonParser value);
    }

    /** Looks at all members of a message; false if it cannot be read to its end. */
    static boolean read(byte[] message, MemberLook look) {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), message)) {
            json.nextToken();
            members(json, look);
            return true;
        } catch (JacksonException e) {
            return false;
        }
    }

    /** Looks at the members of the object at hand, if it is one. */
    static void members(JsonParser json, MemberLook look) {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            return;
        }
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = json.currentName();
            json.nextToken();
            look.at(name, json);
            json.skipChildren();
        }
    }

    /** A string. */
    static Optional<String> string(byte[] message, String... path) {
        return value(message, json -> isString(json) ? Optional.of(json.getString()) : Optional.empty(), path);
    }

    static boolean isString(JsonParser value) {
        return value.currentToken() == JsonToken.VALUE_STRING;
    }

    /** Whether there is an object. */
    static boolean isObject(byte[] message, String... path) {
        return is(JsonToken.START_OBJECT, message, path);
    }

    /** Whether there is the value {@code true}. */
    static boolean isTrue(byte[] message, String... path) {
        return is(JsonToken.VALUE_TRUE, message, path);
    }

    private static boolean is(JsonToken token, byte[] message, String... path) {
        return value(message, json -> Optional.of(json.currentToken() == token), path)
                .orElse(false);
    }

    /** A number. */
    static Optional<Double> number(byte[] message, String... path) {
        return value(
                message,
                json -> json.currentToken().isNumeric() ? Optional.of(json.getDoubleValue()) : Optional.empty(),
                path);
    }

    /** A string or a number, as text. */
    static Optional<String> scalar(byte[] message, String... path) {
        return value(
                message,
                json -> isString(json) || json.currentToken().isNumeric()
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

    /** Reads no further than the value. */
    private static <T> Optional<T> value(byte[] message, Function<JsonParser, Optional<T>> value, String... path) {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), message)) {
            json.nextToken();
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

    /** Moves to the value of a member of the object at hand; false if there is none. */
    private static boolean enter(JsonParser json, String member) {
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
