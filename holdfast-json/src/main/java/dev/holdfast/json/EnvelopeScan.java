package dev.holdfast.json;

import dev.holdfast.json.Envelope.Span;
import dev.holdfast.spi.RequestId;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.TokenStreamLocation;

/**
 * Walks once through a body, message by message, and notes what the envelope of each says. The first fault of a message is kept and the
 * walk goes on, since only the end of the body tells a message that is wrong from a body that is no JSON.
 */
final class EnvelopeScan {
    private static final int MAX_METHOD_CHARS = 512;
    private static final int MAX_ID_CHARS = 512;
    private static final int MAX_ID_DIGITS = 64;
    private static final int LONG_NAME_CHARS = 64;

    /** Each as one string for all messages: a method is kept with its session's journal, and every call would make a copy. */
    private static final String[][] KNOWN_BY_LENGTH = byLength(List.of(
            "2.0",
            "ping",
            "initialize",
            "tools/call",
            "tools/list",
            "prompts/get",
            "prompts/list",
            "resources/read",
            "resources/list",
            "resources/subscribe",
            "resources/unsubscribe",
            "resources/templates/list",
            "completion/complete",
            "logging/setLevel",
            "elicitation/create",
            "sampling/createMessage",
            "roots/list",
            "notifications/initialized",
            "notifications/progress",
            "notifications/message",
            "notifications/cancelled",
            "notifications/roots/list_changed",
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated"));

    private final JsonParser json;
    /** The index of the parser's first byte in the body. */
    private final int origin;
    /** Whether a member had a name of unusual length. */
    boolean longNames;

    // of the message at hand
    private final Set<Member> seen = EnumSet.noneOf(Member.class);
    private String fault = "";
    private boolean nullId;
    private boolean version;
    private boolean result;
    private boolean error;
    int from;
    int to;
    int tokens;
    Optional<RequestId> id = Optional.empty();
    Span idSpan = Span.NONE;
    String method = "";
    Named metaToken = Named.NONE;
    Named paramsToken = Named.NONE;
    Named requestId = Named.NONE;
    Optional<String> paramsVersion = Optional.empty();
    Optional<String> resultVersion = Optional.empty();
    Optional<String> modernVersion = Optional.empty();
    Span metaSpan = Span.NONE;
    /** Where the values lie by which a request of a stateless revision says of itself what a session has said before. */
    final List<Span> claims = new ArrayList<>(0);

    Optional<String> uri = Optional.empty();
    Optional<String> name = Optional.empty();
    boolean task;
    boolean retry;
    boolean inputs;

    /** An id or a progress token, and where it lies. */
    record Named(Optional<RequestId> id, Span span) {
        static final Named NONE = new Named(Optional.empty(), Span.NONE);
    }

    /** The members that count, at whatever depth; each may occur once, or readers of the same bytes could disagree. */
    private enum Member {
        JSONRPC("jsonrpc"),
        ID("id"),
        METHOD("method"),
        PARAMS("params"),
        RESULT("result"),
        ERROR("error"),
        META("params._meta"),
        META_TOKEN("params._meta.progressToken"),
        MODERN_VERSION("params._meta." + Envelope.MODERN_VERSION),
        PARAMS_TOKEN("params.progressToken"),
        REQUEST_ID("params.requestId"),
        PARAMS_VERSION("params.protocolVersion"),
        URI("params.uri"),
        NAME("params.name"),
        RESULT_VERSION("result.protocolVersion");

        private final String place;

        Member(String place) {
            this.place = place;
        }
    }

    /** A scan before the first token. */
    EnvelopeScan(JsonParser json, int origin) {
        this.json = json;
        this.origin = origin;
    }

    /** The index after the last byte that was read. */
    int position() {
        return origin + (int) json.currentLocation().getByteOffset();
    }

    /** The index of what the parser could not read. */
    int faultAt(JacksonException failure) {
        TokenStreamLocation at = failure.getLocation();
        return at == null ? position() - 1 : origin + (int) at.getByteOffset();
    }

    /** Reads the message that begins at this token to its end. */
    void message() {
        seen.clear();
        fault = "";
        nullId = version = result = error = task = retry = inputs = false;
        from = start();
        tokens = 0;
        id = Optional.empty();
        idSpan = Span.NONE;
        method = "";
        metaToken = paramsToken = requestId = Named.NONE;
        paramsVersion = resultVersion = modernVersion = uri = name = Optional.empty();
        metaSpan = Span.NONE;
        claims.clear();
        if (json.currentToken() != JsonToken.START_OBJECT) {
            fault("a JSON-RPC message must be an object");
            skip();
            json.finishToken();
            return;
        }
        for (String member = member(); member != null; member = member()) {
            switch (member) {
                case "jsonrpc" -> {
                    version = text(Member.JSONRPC).filter("2.0"::equals).isPresent();
                    if (!version) {
                        fault("jsonrpc must be \"2.0\"");
                    }
                }
                case "id" -> id();
                case "method" -> {
                    method = text(Member.METHOD).orElse("");
                    if (method.isEmpty() || method.length() > MAX_METHOD_CHARS) {
                        fault("method must be a string of 1 to 512 characters");
                    }
                }
                case "params" -> params();
                case "result" -> result();
                case "error" -> error();
                default -> skip();
            }
        }
        to = position();
    }

    /** What is wrong with the message that was read, in words for its sender; empty when nothing is. */
    String fault() {
        if (!fault.isEmpty()) {
            return fault;
        }
        if (!version) {
            return "jsonrpc must be \"2.0\", but is missing";
        }
        if (nullId && !error) {
            return "id must not be null";
        }
        if (result && error) {
            return "a response must not have both result and error";
        }
        if (!method.isEmpty()) {
            return result || error ? "a message must not have both method and " + (result ? "result" : "error") : "";
        }
        if (!answers()) {
            return "a message must have method, result or error";
        }
        return id.isEmpty() && !error ? "a response must have an id" : "";
    }

    /** What the message is; meaningful when it has no fault. */
    Envelope.Kind kind() {
        if (!method.isEmpty()) {
            return id.isPresent() ? Envelope.Kind.REQUEST : Envelope.Kind.NOTIFICATION;
        }
        return error ? Envelope.Kind.ERROR : Envelope.Kind.RESPONSE;
    }

    /** The id under which a fault can be reported: that of a request, never one that the receiver itself had given out. */
    Optional<RequestId> faultId() {
        return answers() ? Optional.empty() : id;
    }

    /** Whether the message has an answer, be it null. */
    private boolean answers() {
        return error || seen.contains(Member.RESULT);
    }

    private void id() {
        boolean first = once(Member.ID);
        nullId = json.currentToken() == JsonToken.VALUE_NULL;
        Named read = named();
        id = read.id;
        idSpan = read.span;
        if (id.isEmpty() && !nullId) {
            fault("id must be a string of at most 512 characters or an integer of at most 64 digits");
        }
        if (!first) {
            id = Optional.empty();
        }
    }

    private void params() {
        once(Member.PARAMS);
        if (json.currentToken() == JsonToken.VALUE_NULL || !isObject("params must be an object")) {
            return;
        }
        for (String member = member(); member != null; member = member()) {
            switch (member) {
                case "_meta" -> meta();
                case "progressToken" -> paramsToken = token(Member.PARAMS_TOKEN);
                case "requestId" -> requestId = token(Member.REQUEST_ID);
                case "protocolVersion" -> paramsVersion = text(Member.PARAMS_VERSION);
                case "uri" -> uri = text(Member.URI);
                case "name" -> name = text(Member.NAME);
                default -> {
                    task |= member.equals("task");
                    retry |= member.equals("requestState");
                    inputs |= member.equals("inputResponses");
                    skip();
                }
            }
        }
    }

    private void meta() {
        once(Member.META);
        if (json.currentToken() != JsonToken.START_OBJECT) {
            skip();
            return;
        }
        int start = start();
        for (String member = member(); member != null; member = member()) {
            switch (member) {
                case "progressToken" -> metaToken = token(Member.META_TOKEN);
                case Envelope.MODERN_VERSION -> {
                    int at = start();
                    modernVersion = text(Member.MODERN_VERSION);
                    claims.add(new Span(at, position()));
                }
                case Envelope.CLIENT_INFO, Envelope.CLIENT_CAPABILITIES, Envelope.LOG_LEVEL -> {
                    int at = start();
                    skip();
                    json.finishToken();
                    claims.add(new Span(at, position()));
                }
                default -> skip();
            }
        }
        if (modernVersion.isPresent()) {
            metaSpan = new Span(start, position());
        }
    }

    private void result() {
        once(Member.RESULT);
        result |= json.currentToken() != JsonToken.VALUE_NULL;
        if (json.currentToken() != JsonToken.START_OBJECT) {
            skip();
            return;
        }
        for (String member = member(); member != null; member = member()) {
            if (member.equals("protocolVersion")) {
                resultVersion = text(Member.RESULT_VERSION);
            } else {
                skip();
            }
        }
    }

    /** Null stands for an absent error, as for absent params and results: some writers spell them so. */
    private void error() {
        once(Member.ERROR);
        if (json.currentToken() != JsonToken.VALUE_NULL) {
            error = true;
            if (isObject("error must be an object")) {
                skip();
            }
        }
    }

    /** Whether the value at hand is an object; another one is a fault, and passed over. */
    private boolean isObject(String otherwise) {
        boolean object = json.currentToken() == JsonToken.START_OBJECT;
        if (!object) {
            fault(otherwise);
            skip();
        }
        return object;
    }

    /** The string at hand; empty when there is another value, which is passed over. */
    private Optional<String> text(Member member) {
        once(member);
        if (json.currentToken() == JsonToken.VALUE_STRING) {
            return Optional.of(known(json.getStringCharacters(), json.getStringOffset(), json.getStringLength()));
        }
        skip();
        return Optional.empty();
    }

    /** These characters as a string, the same one each time where most messages have it. */
    static String known(char[] chars, int from, int length) {
        if (length < KNOWN_BY_LENGTH.length) {
            for (String known : KNOWN_BY_LENGTH[length]) {
                // from the end: many begin alike
                int left = length;
                while (left > 0 && known.charAt(left - 1) == chars[from + left - 1]) {
                    left--;
                }
                if (left == 0) {
                    return known;
                }
            }
        }
        return new String(chars, from, length);
    }

    private static String[][] byLength(List<String> texts) {
        int longest = texts.stream().mapToInt(String::length).max().orElseThrow();
        String[][] found = new String[longest + 1][];
        Arrays.setAll(
                found,
                length -> texts.stream().filter(text -> text.length() == length).toArray(String[]::new));
        return found;
    }

    private Named token(Member member) {
        once(member);
        Named read = named();
        return read.id.isPresent() ? read : Named.NONE;
    }

    /** The id at hand, and where it lies; another value lies there without one. */
    private Named named() {
        Optional<RequestId> found = id(json);
        int start = start();
        skip();
        json.finishToken();
        return new Named(found, new Span(start, position()));
    }

    private boolean once(Member member) {
        boolean first = seen.add(member);
        if (!first) {
            fault(member.place + " occurs twice");
        }
        return first;
    }

    private void fault(String words) {
        if (fault.isEmpty()) {
            fault = words;
        }
    }

    /** Moves on to the value of the object's next member, and returns its name; null at the object's end. */
    private @Nullable String member() {
        if (json.nextToken() != JsonToken.PROPERTY_NAME) {
            return null;
        }
        String member = json.currentName();
        longNames |= member.length() > LONG_NAME_CHARS;
        json.nextToken();
        return member;
    }

    /** Moves to the end of the value at hand. */
    void skip() {
        for (int depth = json.currentToken().isStructStart() ? 1 : 0; depth > 0; ) {
            JsonToken token = json.nextToken();
            tokens++;
            if (token == JsonToken.PROPERTY_NAME) {
                longNames |= json.currentName().length() > LONG_NAME_CHARS;
            } else if (token.isStructStart()) {
                depth++;
            } else if (token.isStructEnd()) {
                depth--;
            }
        }
    }

    /** The index of the first byte of the token at hand. */
    private int start() {
        return origin + (int) json.currentTokenLocation().getByteOffset();
    }

    /** The id that a value is, in canonical spelling; empty when it is another value, or too long. */
    static Optional<RequestId> id(JsonParser value) {
        if (value.currentToken() == JsonToken.VALUE_STRING) {
            String text = value.getString();
            return text.length() > MAX_ID_CHARS ? Optional.empty() : Optional.of(JsonText.id(text));
        }
        return value.currentToken() == JsonToken.VALUE_NUMBER_INT && value.getStringLength() <= MAX_ID_DIGITS
                ? Optional.of(integer(value.getString()))
                : Optional.empty();
    }

    /**
     * The integer that a value is though it is written with a fraction of zeros or an exponent, 2 for {@code 2.0} or {@code 0.2e1}, as no
     * id may be written; empty when it is another value, or too long.
     */
    static Optional<RequestId> roundedId(JsonParser value) {
        if (value.currentToken() != JsonToken.VALUE_NUMBER_FLOAT || value.getStringLength() > MAX_ID_DIGITS) {
            return Optional.empty();
        }
        BigDecimal number;
        try {
            number = new BigDecimal(value.getString()).stripTrailingZeros();
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
}
