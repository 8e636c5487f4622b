package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.wire.ExchangeEnd;
import java.io.IOException;

/** A server, or a proxy before it, answered with a status that is no success. */
public final class HttpStatusException extends IOException {
    private static final int SHOWN = 200;

    private final int status;

    /**
     * Says what was answered.
     *
     * @param body its beginning stands in the message
     */
    public HttpStatusException(int status, byte[] body) {
        super("status " + status + (body.length == 0 ? "" : ": " + shown(body)));
        this.status = status;
    }

    /** Says what a server has answered. */
    static HttpStatusException of(ExchangeEnd.Answer answer) {
        return new HttpStatusException(answer.status(), answer.body());
    }

    /** The status. */
    public int status() {
        return status;
    }

    /** The beginning of what a server has sent, in characters that any log can have. */
    static String shown(byte[] body) {
        String text = new String(body, 0, Math.min(body.length, SHOWN), UTF_8);
        return text.replaceAll("[^\\x20-\\x7e]", " ").strip();
    }
}
