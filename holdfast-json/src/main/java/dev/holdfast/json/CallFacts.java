package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

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

    private static final byte[] PARAMS = "params".getBytes(US_ASCII);
    private static final byte[] NAME = "name".getBytes(US_ASCII);
    private static final JsonFactory JSON = JsonFactory.builder().build();

    public CallFacts {
        trace = Map.copyOf(trace);
    }

    /** Reads a request, as an {@link EnvelopeReader} has let it pass. */
    public static CallFacts of(byte[] request) {
        Found found = new Found();
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), request)) {
            if (json.nextToken() == JsonToken.START_OBJECT) {
                found.message(json);
            }
        } catch (JacksonException e) {
            // what was found before is as good as it was
        }
        return new CallFacts(
                Optional.ofNullable(found.texts.get("name")), Optional.ofNullable(found.texts.get("uri")), found.trace);
    }

    /**
     * What {@code params.name} names, however long. Reads no further than that, and keeps nothing beside: it may be asked of every call.
     */
    public static Optional<String> named(byte[] request) {
        int params = JsonBytes.valueOf(request, JsonBytes.afterWhiteSpace(request, 0), PARAMS);
        int name = JsonBytes.valueOf(request, params, NAME);
        if (name >= request.length || request[name] != '"') {
            // absent, or spelled in a way that nobody spells it
            return JsonPeek.text(request, "name");
        }
        int end = JsonBytes.afterString(request, name) - 1;
        for (int i = name; i < end; i++) {
            if (request[i] == '\\') {
                return JsonPeek.text(request, "name");
            }
        }
        return Optional.of(new String(request, name + 1, end - name - 1, UTF_8));
    }

    /** What was found so far. */
    private static final class Found {
        private static final Set<String> TEXTS = Set.of("name", "uri");

        private final Map<String, String> texts = new HashMap<>();
        private final Map<String, String> trace = new HashMap<>();

        private void message(JsonParser json) {
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                boolean params = json.currentName().equals("params");
                if (json.nextToken() == JsonToken.START_OBJECT && params) {
                    params(json);
                } else {
                    json.skipChildren();
                }
            }
        }

        private void params(JsonParser json) {
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                JsonToken value = json.nextToken();
                if (TEXTS.contains(name) && text(json)) {
                    texts.put(name, json.getString());
                } else if (value == JsonToken.START_OBJECT && name.equals("_meta")) {
                    meta(json);
                } else {
                    json.skipChildren();
                }
            }
        }

        private static boolean text(JsonParser json) {
            return json.currentToken() == JsonToken.VALUE_STRING && json.getStringLength() <= MOST_CHARS;
        }

        private void meta(JsonParser json) {
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                json.nextToken();
                if (TRACE_FIELDS.contains(name) && text(json)) {
                    trace.put(name, json.getString());
                } else {
                    json.skipChildren();
                }
            }
        }
    }
}
