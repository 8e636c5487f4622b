package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JsonParser;

/**
 * What a request says of itself to those who follow calls. Read in one pass; what is absent, no string, or longer than
 * {@value #MOST_CHARS} characters, is empty.
 *
 * @param name what {@code params.name} names: a tool or a prompt
 * @param uri what {@code params.uri} names: a resource
 * @param trace those of {@code traceparent}, {@code tracestate} and {@code baggage} that are in {@code params._meta}
 * @see <a href="https://modelcontextprotocol.io/community/seps/414-request-meta">SEP-414</a>
 */
public record CallFacts(Optional<String> name, Optional<String> uri, Map<String, String> trace) {
    /** The members of {@code params._meta} that carry the context of a trace, by W3C Trace Context and Baggage. */
    public static final Set<String> TRACE_FIELDS = Set.of("traceparent", "tracestate", "baggage");

    /** So long a value may be. */
    public static final int MOST_CHARS = 2_048;

    private static final Set<String> TEXTS = Set.of("name", "uri");
    private static final byte[] PARAMS = "params".getBytes(US_ASCII);
    private static final byte[] NAME = "name".getBytes(US_ASCII);

    public CallFacts {
        trace = Map.copyOf(trace);
    }

    /** Reads a request, as an {@link EnvelopeReader} has let it pass. */
    public static CallFacts of(byte[] request) {
        Map<String, String> texts = new HashMap<>();
        Map<String, String> trace = new HashMap<>();
        // what was found before a fault is as good as it was
        boolean unused = JsonPeek.read(request, (member, params) -> {
            if (member.equals("params")) {
                JsonPeek.members(params, (name, value) -> {
                    if (name.equals("_meta")) {
                        JsonPeek.members(value, (field, text) -> take(TRACE_FIELDS, field, text, trace));
                    } else {
                        take(TEXTS, name, value, texts);
                    }
                });
            }
        });
        return new CallFacts(Optional.ofNullable(texts.get("name")), Optional.ofNullable(texts.get("uri")), trace);
    }

    private static void take(Set<String> names, String name, JsonParser value, Map<String, String> into) {
        if (names.contains(name) && JsonPeek.isString(value) && value.getStringLength() <= MOST_CHARS) {
            into.put(name, value.getString());
        }
    }

    /**
     * What {@code params.name} names, however long. Reads no further than that, and keeps nothing beside: it may be asked of every call.
     */
    public static Optional<String> named(byte[] request) {
        int params = JsonBytes.valueOf(request, JsonBytes.afterWhiteSpace(request, 0), PARAMS);
        int name = JsonBytes.valueOf(request, params, NAME);
        if (name >= request.length || request[name] != '"') {
            // absent, or spelled in a way that nobody spells it
            return JsonPeek.string(request, "params", "name");
        }
        int end = JsonBytes.afterString(request, name) - 1;
        for (int i = name; i < end; i++) {
            if (request[i] == '\\') {
                return JsonPeek.string(request, "params", "name");
            }
        }
        return Optional.of(new String(request, name + 1, end - name - 1, UTF_8));
    }
}
