package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.holdfast.client.wire.ExchangeEnd;
import java.time.Instant;

/** What the answer to a POST says of the message in it. */
sealed interface PostVerdict {
    /** The server has it; its messages, if any, are in the body. */
    record Accepted() implements PostVerdict {}

    /** The server wants credentials first. */
    record Unauthorized() implements PostVerdict {}

    /** It is to be sent again, with other credentials. */
    record SendAgain() implements PostVerdict {}

    /** The application failed to give credentials. */
    record NotSent(Throwable failure) implements PostVerdict {}

    /** There is no such session. */
    record NoSession() implements PostVerdict {}

    /** It may be that there is no such session: some servers say 400 then. */
    record PerhapsNoSession() implements PostVerdict {}

    /** The server has refused it, though the session is there: one that shuts down may lose the half of a body, and says so. */
    record Doubtful() implements PostVerdict {}

    /** It was not executed, and may be sent again after so many milliseconds. */
    record Later(long millis) implements PostVerdict {}

    /** A proxy lost the server while it had the message: executed or not, nobody knows. */
    record Unknown() implements PostVerdict {}

    /** What stands around the server failed, perhaps under the message: its own errors are JSON. */
    record Failed() implements PostVerdict {}

    /** It will not be executed, or no further. */
    record Refused() implements PostVerdict {}

    /** What Envoy writes with a 503 when the server went away under a request. */
    String ENVOY_LOST_IT = "disconnect/reset before headers";

    /** What Envoy adds when it did not reach the server at all. */
    String ENVOY_NOT_SENT = "connection failure";

    /** How a POST says which session its message belongs to. */
    enum Session {
        /** To none: there is no session yet, or the server has none. */
        NONE,
        /** By the id in its head. */
        ID,
        /** By its address, which is the session's own. */
        ADDRESS
    }

    /** Judges an answer to a message of this session. */
    static PostVerdict of(ExchangeEnd.Answer answer, Session session) {
        return switch (answer.status()) {
            case 401, 403 -> new Unauthorized();
            case 404 -> session == Session.NONE ? new Refused() : new NoSession();
            case 400 -> session == Session.ID ? new PerhapsNoSession() : new Refused();
            case 429 -> new Later(RetryAfter.millis(answer.headers(), Instant.now()));
            case 503 ->
                lostUnderWay(answer) ? new Unknown() : new Later(RetryAfter.millis(answer.headers(), Instant.now()));
            case 408, 502, 504, 520, 521, 522, 523, 524 -> new Unknown();
            case 500 -> answer.json() ? new Refused() : new Failed();
            default -> answer.good() ? new Accepted() : new Refused();
        };
    }

    private static boolean lostUnderWay(ExchangeEnd.Answer answer) {
        String body = new String(answer.body(), ISO_8859_1);
        return body.contains(ENVOY_LOST_IT) && !body.contains(ENVOY_NOT_SENT);
    }
}
