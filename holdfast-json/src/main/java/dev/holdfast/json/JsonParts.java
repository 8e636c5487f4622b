package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Parts of a message that an {@link EnvelopeReader} has let pass, each found by the names on the way to it; without a tree. */
public final class JsonParts {
    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();

    private JsonParts() {}

    /** A value as JSON, exactly as it stands there. */
    public static Optional<String> raw(byte[] message, String... path) {
        return JsonPeek.raw(message, path);
    }

    /** A string. */
    public static Optional<String> string(byte[] message, String... path) {
        return JsonPeek.string(message, path);
    }

    /** Whether there is the value {@code true}. */
    public static boolean isTrue(byte[] message, String... path) {
        return JsonPeek.isTrue(message, path);
    }

    /** The strings of an array, without its other elements; none where there is no array. */
    public static List<String> strings(byte[] message, String... path) {
        return JsonPeek.strings(message, path);
    }

    /** The elements of an array in their order, each as JSON exactly as it stands there; none where there is no array. */
    public static List<byte[]> elements(byte[] message, String... path) {
        return JsonPeek.elements(message, path);
    }

    /** The members of an object in their order, each as JSON exactly as it stands there; none where there is no object. */
    public static Map<String, String> members(byte[] message, String... path) {
        return JsonPeek.members(message, path);
    }

    /** A text as JSON. */
    public static String quoted(String text) {
        return JsonText.quoted(text);
    }

    /** An object of these members, whose values are JSON. */
    public static String object(Map<String, String> members) {
        return members.entrySet().stream()
                .map(member -> JsonText.quoted(member.getKey()) + ":" + member.getValue())
                .collect(Collectors.joining(",", "{", "}"));
    }

    /**
     * A message that has these members beside {@code jsonrpc}.
     *
     * @throws IllegalArgumentException if it is none
     */
    public static Envelope message(String members) {
        return ENVELOPES.message(("{\"jsonrpc\":\"2.0\"," + members + "}").getBytes(UTF_8));
    }
}
