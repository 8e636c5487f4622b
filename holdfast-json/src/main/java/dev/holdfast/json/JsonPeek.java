package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.json.EnvelopeReader.Parsers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;

/** Looks for values in a message that an {@link EnvelopeReader} has let pass, without a tree. */
final class JsonPeek {
    private static final JsonFactory JSON = Parsers.unlimited(EnvelopeReader.MAX_SERVER_DEPTH)
            .disable(TokenStreamFactory.Feature.CANONICALIZE_PROPERTY_NAMES)
            .build();

    private static volatile Parsers places = new Parsers(EnvelopeReader.MAX_SERVER_DEPTH);
    /** The buffer of a parser does not count beside a message of that length, but the names in it may. */
    private static final int LONG_MESSAGE = 1 << 14;

    private JsonPeek() {}

    /** Takes a member of an object; may move the parser on to the end of its value. */
    interface MemberLook {
        void at(String name, JsonParser value);
    }

    /** Looks at all members of a message; false if it cannot be read to its end. */
    static boolean read(byte[] message, MemberLook look) {
        return read(message, 0, message.length, look);
    }

    /** The same for the object that lies there in a message. */
    static boolean read(byte[] message, int from, int to, MemberLook look) {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), message, from, to - from)) {
            json.nextToken();
            members(json, look);
            return true;
        } catch (JacksonException e) {
            return false;
        }
    }

    /** Looks at all members of a message, and where they lie; false if it cannot be read to its end. */
    static boolean place(byte[] message, MemberLook look) {
        try {
            Parsers source = places;
            JsonParser json = source.parser(message, 0, message.length);
            json.nextToken();
            members(json, look);
            places = source.close(json, message.length > LONG_MESSAGE);
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

    static boolean isObject(JsonParser value) {
        return value.currentToken() == JsonToken.START_OBJECT;
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

    /** A value in a form that does not depend on the order of members and on white space, and is kept: it must stay as it is. */
    static Optional<String> canonical(byte[] message, String... path) {
        return value(message, json -> Optional.of(sorted(json, "=", ", ")), path);
    }

    /** A value as JSON without white space, the members of its objects in the order of their names. */
    static Optional<String> json(byte[] message, String... path) {
        return value(message, json -> Optional.of(json(json)), path);
    }

    static String json(JsonParser value) {
        return sorted(value, ":", ",");
    }

    private static String sorted(JsonParser json, String is, String and) {
        return switch (json.currentToken()) {
            case START_OBJECT -> {
                Map<String, String> members = new TreeMap<>();
                while (json.nextToken() != JsonToken.END_OBJECT) {
                    String name = JsonText.quoted(json.currentName());
                    json.nextToken();
                    members.put(name, sorted(json, is, and));
                }
                yield object(members, is, and);
            }
            case START_ARRAY -> {
                List<String> elements = new ArrayList<>();
                while (json.nextToken() != JsonToken.END_ARRAY) {
                    elements.add(sorted(json, is, and));
                }
                yield "[" + String.join(and, elements) + "]";
            }
            case VALUE_STRING -> JsonText.quoted(json.getString());
            default -> json.getString();
        };
    }

    /** An object of these members, whose names and values are JSON. */
    static String object(Map<String, String> members) {
        return object(members, ":", ",");
    }

    private static String object(Map<String, String> members, String is, String and) {
        return members.entrySet().stream()
                .map(member -> member.getKey() + is + member.getValue())
                .collect(Collectors.joining(and, "{", "}"));
    }

    /** A value exactly as it stands in the message. */
    static Optional<String> raw(byte[] message, String... path) {
        return placed(message, json -> Optional.of(raw(message, json)), path);
    }

    static String raw(byte[] message, JsonParser value) {
        Span span = span(value, start(value));
        return new String(message, span.from(), span.length(), UTF_8);
    }

    /** The index of the first byte of the value at hand. */
    static int start(JsonParser value) {
        return (int) value.currentTokenLocation().getByteOffset();
    }

    /** Where the value lies that begins there, and at whose first or last token the parser is; moves on to its end. */
    static Span span(JsonParser value, int start) {
        value.skipChildren();
        value.finishToken();
        return new Span(start, (int) value.currentLocation().getByteOffset());
    }

    /** The elements of an array, each as a message of its own; none where there is no array. */
    static List<byte[]> elements(byte[] message, String... path) {
        List<byte[]> elements = new ArrayList<>();
        Optional<Boolean> unused = placed(
                message,
                json -> {
                    if (json.currentToken() == JsonToken.START_ARRAY) {
                        while (json.nextToken() != JsonToken.END_ARRAY) {
                            Span span = span(json, start(json));
                            elements.add(Arrays.copyOfRange(message, span.from(), span.to()));
                        }
                    }
                    return Optional.of(true);
                },
                path);
        return elements;
    }

    /** The strings of an array, without its other elements; none where there is no array. */
    static List<String> strings(byte[] message, String... path) {
        List<String> strings = new ArrayList<>();
        Optional<Boolean> unused = value(
                message,
                json -> {
                    if (json.currentToken() == JsonToken.START_ARRAY) {
                        while (json.nextToken() != JsonToken.END_ARRAY) {
                            if (isString(json)) {
                                strings.add(json.getString());
                            }
                            json.skipChildren();
                        }
                    }
                    return Optional.of(true);
                },
                path);
        return strings;
    }

    /** The members of an object, each exactly as it stands in the message, in their order; none where there is no object. */
    static Map<String, String> members(byte[] message, String... path) {
        Map<String, String> members = new LinkedHashMap<>();
        Optional<Boolean> unused = placed(
                message,
                json -> {
                    members(json, (name, value) -> members.put(name, raw(message, value)));
                    return Optional.of(true);
                },
                path);
        return members;
    }

    /** Reads no further than the value. */
    private static <T> Optional<T> value(byte[] message, Function<JsonParser, Optional<T>> value, String... path) {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), message)) {
            return at(json, value, path);
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }

    /** The same where it matters where the value lies. */
    private static <T> Optional<T> placed(byte[] message, Function<JsonParser, Optional<T>> value, String... path) {
        try {
            return at(places.parser(message, 0, message.length), value, path);
        } catch (JacksonException e) {
            return Optional.empty();
        }
    }

    private static <T> Optional<T> at(JsonParser json, Function<JsonParser, Optional<T>> value, String... path) {
        json.nextToken();
        for (String member : path) {
            if (!enter(json, member)) {
                return Optional.empty();
            }
        }
        return value.apply(json);
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
