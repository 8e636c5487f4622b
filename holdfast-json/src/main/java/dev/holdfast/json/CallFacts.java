package dev.holdfast.json;

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
