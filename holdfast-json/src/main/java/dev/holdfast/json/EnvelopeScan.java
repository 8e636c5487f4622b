package dev.holdfast.json;

import dev.holdfast.spi.RequestId;
import java.math.BigDecimal;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
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

    private final JsonParser json;
    private final int origin;
    private final Set<Member> seen = EnumSet.noneOf(Member.class);
    private boolean longNames;

    // of the message at hand
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
    Optional<String> uri = Optional.empty();
    Optional<String> name = Optional.empty();
    boolean task;

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

    /** A scan before the first token; {@code origin} is the index of the parser's first byte in the body. */
    EnvelopeScan(JsonParser json, int origin) {
        this.json = json;
        this.origin = origin;
    }

    /** Moves to the next token, and returns whether there is one. */
    boolean next() {
        return json.nextToken() != null;
    }

    boolean at(JsonToken token) {
        return json.currentToken() == token;
    }

    /** Whether a member had a name of unusual length. */
    boolean longNames() {
        return longNames;
    }

    /** The index after the last byte that was read. */
    int position() {
        return index(json.currentLocation());
    }

    /** The index of what the parser could not read. */
    int faultAt(JacksonException failure) {
        return Optional.ofNullable(failure.getLocation()).map(this::index).orElseGet(() -> position() - 1);
    }

    /** Reads the message that begins at this token to its end. */
    void message() {
        begin();
        if (!at(JsonToken.START_OBJECT)) {
            fault("a JSON-RPC message must be an object");
            skipped();
            return;
        }
        while (nextMember()) {
            switch (json.currentName()) {
                case "jsonrpc" -> jsonrpc();
                case "id" -> id();
                case "method" -> method();
                case "params" -> params();
                case "result" -> result();
                case "error" -> error();
                default -> skip();
            }
        }
        to = position();
    }

    /** Forgets the message before. */
    private void begin() {
        from = from();
        tokens = 0;
        seen.clear();
        fault = "";
        method = "";
        nullId = version = result = error = task = false;
        id = Optional.empty();
        idSpan = Span.NONE;
        metaToken = paramsToken = requestId = Named.NONE;
        paramsVersion = resultVersion = modernVersion = uri = name = Optional.empty();
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

    private void jsonrpc() {
        once(Member.JSONRPC);
        version = text().filter("2.0"::equals).isPresent();
        if (!version) {
            fault("jsonrpc must be \"2.0\"");
        }
    }

    private void id() {
        boolean first = once(Member.ID);
        id = id(json);
        nullId = at(JsonToken.VALUE_NULL);
        idSpan = skipped();
        if (id.isEmpty() && !nullId) {
            fault("id must be a string of at most 512 characters or an integer of at most 64 digits");
        }
        if (!first) {
            id = Optional.empty();
        }
    }

    private void method() {
        once(Member.METHOD);
        method = text().orElse("");
        if (method.isEmpty() || method.length() > MAX_METHOD_CHARS) {
            fault("method must be a string of 1 to 512 characters");
        }
    }

    private void params() {
        once(Member.PARAMS);
        if (at(JsonToken.VALUE_NULL) || !object("params must be an object")) {
            return;
        }
        while (nextMember()) {
            switch (json.currentName()) {
                case "_meta" -> meta();
                case "progressToken" -> paramsToken = named(Member.PARAMS_TOKEN);
                case "requestId" -> requestId = named(Member.REQUEST_ID);
                case "protocolVersion" -> paramsVersion = text(Member.PARAMS_VERSION);
                case "uri" -> uri = text(Member.URI);
                case "task" -> {
                    task = true;
                    skip();
                }
                case "name" -> name = text(Member.NAME);
                default -> skip();
            }
        }
    }

    private void meta() {
        once(Member.META);
        if (!at(JsonToken.START_OBJECT)) {
            skip();
            return;
        }
        while (nextMember()) {
            switch (json.currentName()) {
                case "progressToken" -> metaToken = named(Member.META_TOKEN);
                case Envelope.MODERN_VERSION -> modernVersion = text(Member.MODERN_VERSION);
                default -> skip();
            }
        }
    }

    private void result() {
        once(Member.RESULT);
        result |= !at(JsonToken.VALUE_NULL);
        if (!at(JsonToken.START_OBJECT)) {
            skip();
            return;
        }
        while (nextMember()) {
            if (json.currentName().equals("protocolVersion")) {
                resultVersion = text(Member.RESULT_VERSION);
            } else {
                skip();
            }
        }
    }

    /** Null stands for an absent error, as for absent params and results: some writers spell them so. */
    private void error() {
        once(Member.ERROR);
        if (!at(JsonToken.VALUE_NULL)) {
            error = true;
            if (object("error must be an object")) {
                skip();
            }
        }
    }

    private boolean object(String otherwise) {
        boolean object = at(JsonToken.START_OBJECT);
        if (!object) {
            fault(otherwise);
            skip();
        }
        return object;
    }

    private Optional<String> text(Member member) {
        once(member);
        return text();
    }

    /** The string at hand; empty when there is another value, which is passed over. */
    private Optional<String> text() {
        if (at(JsonToken.VALUE_STRING)) {
            return Optional.of(
                    JsonText.known(json.getStringCharacters(), json.getStringOffset(), json.getStringLength()));
        }
        skip();
        return Optional.empty();
    }

    private Named named(Member member) {
        once(member);
        Optional<RequestId> found = id(json);
        Span span = skipped();
        return found.isPresent() ? new Named(found, span) : Named.NONE;
    }

    private boolean once(Member member) {
        boolean first = seen.add(member);
        if (!first) {
            fault(member.place + " occurs twice");
        }
        return first;
    }

    /** Whether the message has an answer, be it null. */
    private boolean answers() {
        return error || seen.contains(Member.RESULT);
    }

    private void fault(String words) {
        if (fault.isEmpty()) {
            fault = words;
        }
    }

    /** Moves on to the value of the object's next member, or to the object's end. */
    private boolean nextMember() {
        if (json.nextToken() != JsonToken.PROPERTY_NAME) {
            return false;
        }
        noteName();
        json.nextToken();
        return true;
    }

    /** Moves to the end of the value at hand. */
    void skip() {
        for (int depth = json.currentToken().isStructStart() ? 1 : 0; depth > 0; ) {
            JsonToken token = json.nextToken();
            tokens++;
            if (token == JsonToken.PROPERTY_NAME) {
                noteName();
            } else if (token.isStructStart()) {
                depth++;
            } else if (token.isStructEnd()) {
                depth--;
            }
        }
    }

    /** Moves to the end of the value at hand, and returns where the value lies. */
    private Span skipped() {
        int start = from();
        skip();
        json.finishToken();
        return new Span(start, position());
    }

    private int from() {
        return index(json.currentTokenLocation());
    }

    private void noteName() {
        longNames |= json.currentName().length() > LONG_NAME_CHARS;
    }

    private int index(TokenStreamLocation location) {
        return origin + (int) location.getByteOffset();
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
