package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import tools.jackson.databind.JsonNode;

/** The answer to a request that was not served. */
record Refusal(RawConnection.Head head, String body) {
    /** What must never leave the server: names of classes, and traces of calls. */
    private static final String INNER_LIFE = "(?s).*(Exception|\\tat |java\\.|jakarta\\.|holdfast\\.|jackson|<html).*";

    /** Sends a request, and takes its answer. */
    static Refusal of(int port, RawRequest request) {
        try (RawConnection connection = RawConnection.open(port).send(request)) {
            return of(connection);
        }
    }

    /** Takes an answer, which must be a JSON-RPC error that names a fault, and nothing of the server's inside. */
    static Refusal of(RawConnection connection) {
        Refusal refusal = new Refusal(connection.head(), connection.body());
        assertThat(refusal.body).as(refusal.head.toString()).doesNotMatch(INNER_LIFE);
        assertThat(refusal.head.header("Content-Type")).hasValue("application/json;charset=utf-8");
        assertThat(refusal.json().at("/jsonrpc").asString()).isEqualTo("2.0");
        assertThat(refusal.json().has("id")).isTrue();
        assertThat(refusal.message()).isNotBlank();
        return refusal;
    }

    int status() {
        return head.status();
    }

    int code() {
        return json().at("/error/code").asInt();
    }

    String message() {
        return json().at("/error/message").asString();
    }

    JsonNode json() {
        return Json.parse(body);
    }

    /** Holds it against the status and code of the JSON-RPC error, and words of its message. */
    Refusal assertIs(int status, int code, String words) {
        assertThat(status()).as(body).isEqualTo(status);
        assertThat(code()).as(body).isEqualTo(code);
        assertThat(message()).contains(words);
        return this;
    }
}
