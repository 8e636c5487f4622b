package dev.holdfast.json;

import dev.holdfast.spi.RequestId;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JsonToken;

/**
 * Walks once through one message and notes what its envelope says. The first fault is kept and the walk goes on, since only the
 * end of the body tells a message that is wrong from a body that is no JSON.
 */
final class EnvelopeScan {
    private static final int MAX_METHOD_CHARS = 512;

    private final JsonCursor json;
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
    Span params = Span.NONE;
    Span meta = Span.NONE;
    Optional<RequestId> metaToken = Optional.empty();
    Span metaTokenSpan = Span.NONE;
    Optional<RequestId> paramsToken = Optional.empty();
    Span paramsTokenSpan = Span.NONE;
    Optional<RequestId> requestId = Optional.empty();
    Span requestIdSpan = Span.NONE;
    Optional<String> paramsVersion = Optional.empty();
    Optional<String> resultVersion = Optional.empty();
    Optional<String> modernVersion = Optional.empty();
    Optional<String> uri = Optional.empty();
    boolean task;

    EnvelopeScan(JsonCursor json) {
        this.json = json;
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

    /** Reads the message at the cursor to its end. */
    void message() {
        from = json.from();
        tokens = -json.tokens();
        if (!json.at(JsonToken.START_OBJECT)) {
            fault("a JSON-RPC message must be an object");
            json.skipped();
            return;
        }
        while (json.nextMember()) {
            switch (json.name()) {
                case "jsonrpc" -> jsonrpc();
                case "id" -> id();
                case "method" -> method();
                case "params" -> params();
                case "result" -> result();
                case "error" -> error();
                default -> json.skip();
            }
        }
        to = json.position();
        tokens += json.tokens();
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
        version = json.text().filter("2.0"::equals).isPresent();
        if (!version) {
            fault("jsonrpc must be \"2.0\"");
        }
    }

    private void id() {
        boolean again = !once(Member.ID);
        id = json.id();
        nullId = json.at(JsonToken.VALUE_NULL);
        idSpan = json.skipped();
        if (id.isEmpty() && !nullId) {
            fault("id must be a string of at most 512 characters or an integer of at most 64 digits");
        }
        if (again) {
            id = Optional.empty();
        }
    }

    private void method() {
        once(Member.METHOD);
        method = json.text().orElse("");
        if (method.isEmpty() || method.length() > MAX_METHOD_CHARS) {
            fault("method must be a string of 1 to 512 characters");
        }
    }

    private void params() {
        once(Member.PARAMS);
        int start = json.from();
        if (isNull() || !object("params must be an object")) {
            return;
        }
        while (json.nextMember()) {
            switch (json.name()) {
                case "_meta" -> meta();
                case "progressToken" -> {
                    once(Member.PARAMS_TOKEN);
                    paramsToken = json.id();
                    paramsTokenSpan = spanOf(paramsToken);
                }
                case "requestId" -> {
                    once(Member.REQUEST_ID);
                    requestId = json.id();
                    requestIdSpan = spanOf(requestId);
                }
                case "protocolVersion" -> paramsVersion = text(Member.PARAMS_VERSION);
                case "uri" -> uri = text(Member.URI);
                case "task" -> {
                    task = true;
                    json.skip();
                }
                case "name" -> {
                    once(Member.NAME);
                    json.skip();
                }
                default -> json.skip();
            }
        }
        params = new Span(start, json.position());
    }

    private void meta() {
        once(Member.META);
        if (!json.at(JsonToken.START_OBJECT)) {
            json.skip();
            return;
        }
        int start = json.from();
        while (json.nextMember()) {
            switch (json.name()) {
                case "progressToken" -> {
                    once(Member.META_TOKEN);
                    metaToken = json.id();
                    metaTokenSpan = spanOf(metaToken);
                }
                case Envelope.MODERN_VERSION -> modernVersion = text(Member.MODERN_VERSION);
                default -> json.skip();
            }
        }
        meta = new Span(start, json.position());
    }

    private void result() {
        once(Member.RESULT);
        result |= !isNull();
        if (!json.at(JsonToken.START_OBJECT)) {
            json.skip();
            return;
        }
        while (json.nextMember()) {
            if (json.name().equals("protocolVersion")) {
                resultVersion = text(Member.RESULT_VERSION);
            } else {
                json.skip();
            }
        }
    }

    private void error() {
        once(Member.ERROR);
        if (!isNull()) {
            error = true;
            if (object("error must be an object")) {
                json.skip();
            }
        }
    }

    /** Whether the value is null, as some writers spell an absent params, result or error. */
    private boolean isNull() {
        return json.at(JsonToken.VALUE_NULL);
    }

    private boolean object(String otherwise) {
        boolean object = json.at(JsonToken.START_OBJECT);
        if (!object) {
            fault(otherwise);
            json.skip();
        }
        return object;
    }

    private Optional<String> text(Member member) {
        once(member);
        return json.text();
    }

    private Span spanOf(Optional<RequestId> value) {
        Span span = json.skipped();
        return value.isPresent() ? span : Span.NONE;
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
}
