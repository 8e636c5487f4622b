package dev.holdfast.servlet.guard;

import dev.holdfast.Refusal;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.spi.RequestId;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Why a request is not served: the caller's fault, or a time to come back later. Answered as a JSON-RPC error.
 *
 * @param refusal the reason, as it is counted
 * @param status the HTTP status
 * @param code the JSON-RPC error code
 * @param message what was wrong, in words for the client; never an exception's text
 * @param id the request it answers, if that is known
 * @param data more about it as JSON
 * @param headers further response headers
 * @param detail more about it for the log, with no whole credential in it; or empty
 */
public record Rejection(
        Refusal refusal,
        int status,
        int code,
        String message,
        Optional<RequestId> id,
        Optional<String> data,
        Map<String, String> headers,
        String detail) {
    private static final int QUOTED = 100;

    /** The answer to what the engine, or anybody else, has refused for a reason that says it all. */
    public static Rejection of(Refusal refusal) {
        return switch (refusal) {
            // what comes next on this connection would find the server gone
            case DRAINING -> comeBack(503, refusal).with("Connection", "close");
            case SESSIONS,
                    PRINCIPAL_SESSIONS,
                    PRINCIPAL_SHARE,
                    AUTHENTICATION,
                    NODE_CALLS,
                    STORE,
                    BACKENDS,
                    BACKEND_OPENING,
                    BODY_ROOM -> comeBack(503, refusal);
            case SESSION_CALLS, BACKEND -> comeBack(429, refusal);
            case JOURNAL -> of(refusal, 429, JsonRpc.SERVER_ERROR, refusal.text());
            case BODY_TIME ->
                of(refusal, 408, JsonRpc.INVALID_REQUEST, refusal.text()).with("Connection", "close");
            case UNAUTHENTICATED -> of(refusal, 401, JsonRpc.INVALID_REQUEST, refusal.text());
            case HOST, ORIGIN, INSUFFICIENT_SCOPE -> of(refusal, 403, JsonRpc.INVALID_REQUEST, refusal.text());
            case UNKNOWN_SESSION ->
                of(refusal, 404, JsonRpc.SESSION_NOT_FOUND, "session not found: initialize a new one");
            case BODY_SIZE ->
                of(refusal, 413, JsonRpc.INVALID_REQUEST, refusal.text()).with("Connection", "close");
            case DUPLICATE_ID, NOT_SERVED, MALFORMED, UNKNOWN_EVENT -> badRequest(refusal, refusal.text());
        };
    }

    public static Rejection of(Refusal refusal, int status, int code, String message) {
        return new Rejection(refusal, status, code, message, Optional.empty(), Optional.empty(), Map.of(), "");
    }

    public static Rejection malformed(String message) {
        return badRequest(Refusal.MALFORMED, message);
    }

    public static Rejection badRequest(Refusal refusal, String message) {
        return of(refusal, 400, JsonRpc.INVALID_REQUEST, message);
    }

    public static Rejection tooLarge(int limit) {
        return of(Refusal.BODY_SIZE, 413, JsonRpc.INVALID_REQUEST, "the request body exceeds " + limit + " bytes")
                .with("Connection", "close");
    }

    public static Rejection tooMuchMemory() {
        return of(
                Refusal.BODY_SIZE,
                413,
                JsonRpc.INVALID_REQUEST,
                "the request takes more memory than this server has for it");
    }

    public static Rejection brokenBody() {
        return badRequest(Refusal.BODY_TIME, "the request body broke off before its end")
                .with("Connection", "close");
    }

    private static Rejection comeBack(int status, Refusal refusal) {
        return of(refusal, status, JsonRpc.SERVER_ERROR, refusal.text()).with("Retry-After", "1");
    }

    public Rejection with(String header, String value) {
        Map<String, String> more = new HashMap<>(headers);
        more.put(header, value);
        return new Rejection(refusal, status, code, message, id, data, Map.copyOf(more), detail);
    }

    public Rejection to(Optional<RequestId> request) {
        return new Rejection(refusal, status, code, message, request, data, headers, detail);
    }

    public Rejection about(String json) {
        return new Rejection(refusal, status, code, message, id, Optional.of(json), headers, detail);
    }

    /** The same with a detail for the log, whose quoted parts went through {@link #quote}. */
    public Rejection because(String more) {
        return new Rejection(refusal, status, code, message, id, data, headers, more);
    }

    /** What a client sent, fit for a log line. */
    public static String quote(String sent) {
        String shown = sent.length() > QUOTED ? sent.substring(0, QUOTED) + "..." : sent;
        return '"' + shown.replaceAll("[^\\x20-\\x7e]", "?") + '"';
    }

    public byte[] body() {
        return data.map(json -> JsonRpc.errorBody(id, code, message, json))
                .orElseGet(() -> JsonRpc.errorBody(id, code, message));
    }
}
