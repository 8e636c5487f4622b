package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.spi.InboundMessage;
import java.util.Arrays;
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

    private static final byte[] META = "\"_meta\"".getBytes(US_ASCII);
    private static final Set<String> TEXTS = Set.of("name", "uri");

    public CallFacts {
        trace = Map.copyOf(trace);
    }

    /** Reads a request, as an {@link EnvelopeReader} has let it pass. One without {@code _meta} was read whole by that. */
    public static CallFacts of(InboundMessage request) {
        return request.parsed() instanceof Envelope envelope && !mayHaveMeta(request.bytes())
                ? new CallFacts(
                        envelope.name().filter(CallFacts::isShort),
                        envelope.uri().filter(CallFacts::isShort),
                        Map.of())
                : of(request.bytes());
    }

    private static boolean isShort(String text) {
        return text.length() <= MOST_CHARS;
    }

    /** Whether a member of that name is somewhere, or an escape, by which the name may be spelled. */
    private static boolean mayHaveMeta(byte[] request) {
        for (int i = 0; i < request.length - 1; i++) {
            int end = i + META.length;
            if ((request[i] == '\\' && request[i + 1] == 'u')
                    || (request[i] == '"'
                            && end <= request.length
                            && Arrays.equals(request, i, end, META, 0, META.length))) {
                return true;
            }
        }
        return false;
    }

    static CallFacts of(byte[] request) {
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

    /** What {@code params.name} names, however long. It may be asked of every call: who has read the request has found it. */
    public static Optional<String> named(InboundMessage request) {
        return request.parsed() instanceof Envelope envelope ? envelope.name() : named(request.bytes());
    }

    static Optional<String> named(byte[] request) {
        return JsonPeek.string(request, "params", "name");
    }
}
