package dev.holdfast.spi;

import java.util.Objects;

/**
 * The id of a JSON-RPC request: its type and its value, so that {@code 1} is not {@code "1"}.
 *
 * @param token the id as a JSON token in canonical spelling: the digits of a number, or a string with its quotes and minimal
 *     escapes. Two ids are the same request exactly when their tokens are equal.
 */
public record RequestId(String token) {
    public RequestId {
        Objects.requireNonNull(token, "token");
        if (token.isEmpty()) {
            throw new IllegalArgumentException("a request id needs a JSON token, got an empty one");
        }
    }

    @Override
    public String toString() {
        return token;
    }
}
