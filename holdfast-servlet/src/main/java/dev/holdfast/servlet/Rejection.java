package dev.holdfast.servlet;

import dev.holdfast.spi.RequestId;
import java.util.Map;
import java.util.Optional;

/**
 * Why a request is not served: the caller's fault, or a time to come back later. Answered as a JSON-RPC error.
 *
 * @param status the HTTP status
 * @param code the JSON-RPC error code
 * @param message what was wrong, in words for the client; never an exception's text
 * @param id the request it answers, if that is known
 * @param data more about it as JSON
 * @param headers further response headers
 */
record Rejection(
        int status,
        int code,
        String message,
        Optional<RequestId> id,
        Optional<String> data,
        Map<String, String> headers) {

    static Rejection of(int status, int code, String message) {
        return new Rejection(status, code, message, Optional.empty(), Optional.empty(), Map.of());
    }

    static Rejection badRequest(String message) {
        return of(400, JsonRpc.INVALID_REQUEST, message);
    }

    static Rejection forbidden(String message) {
        return of(403, JsonRpc.INVALID_REQUEST, message);
    }

    static Rejection sessionNotFound() {
        return of(404, JsonRpc.SESSION_NOT_FOUND, "session not found: initialize a new one");
    }

    static Rejection shuttingDown() {
        return busy(503, "the server is shutting down");
    }

    static Rejection tooLarge(int limit) {
        return of(413, JsonRpc.INVALID_REQUEST, "the request body exceeds " + limit + " bytes")
                .with("Connection", "close");
    }

    static Rejection busy(int status, String message) {
        return of(status, JsonRpc.SERVER_ERROR, message).with("Retry-After", "1");
    }

    static Rejection brokenBody() {
        return badRequest("the request body broke off before its end").with("Connection", "close");
    }

    Rejection with(String header, String value) {
        return new Rejection(status, code, message, id, data, Map.of(header, value));
    }

    Rejection to(Optional<RequestId> request) {
        return new Rejection(status, code, message, request, data, headers);
    }

    Rejection about(String json) {
        return new Rejection(status, code, message, id, Optional.of(json), headers);
    }

    byte[] body() {
        return data.map(json -> JsonRpc.errorBody(id, code, message, json))
                .orElseGet(() -> JsonRpc.errorBody(id, code, message));
    }
}
