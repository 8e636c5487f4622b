package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.holdfast.client.wire.ExchangeEnd;

/** What the answer to a POST says of the message in it. */
enum PostOutcome {
    /** The server has it; its messages, if any, are in the body. */
    ACCEPTED,
    UNAUTHORIZED,
    NO_SESSION,
    /** Perhaps there is no such session: some servers answer 400 then. */
    PERHAPS_NO_SESSION,
    /** It was refused although the session is there: a server that shuts down may have read half of the body. */
    DOUBTFUL,
    /** It was not executed, and may be sent again after the time that the answer states. */
    LATER,
    /** A proxy lost its connection to the server: nobody knows whether the message was executed. */
    UNKNOWN,
    /** The container of the server failed, perhaps while it executed the message: errors of the server itself are JSON. */
    FAILED,
    /** It was refused for good. */
    REFUSED;

    /** What Envoy writes with a 503 when the server went away under a request. */
    private static final String ENVOY_LOST_IT = "disconnect/reset before headers";

    /** What Envoy adds when it did not reach the server at all. */
    private static final String ENVOY_NOT_SENT = "connection failure";

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
    static PostOutcome of(ExchangeEnd.Answer answer, Session session) {
        return switch (answer.status()) {
            case 401, 403 -> UNAUTHORIZED;
            case 404 -> session == Session.NONE ? REFUSED : NO_SESSION;
            case 400 -> session == Session.ID ? PERHAPS_NO_SESSION : REFUSED;
            case 429 -> LATER;
            case 503 -> lostUnderWay(answer) ? UNKNOWN : LATER;
            case 408, 502, 504, 520, 521, 522, 523, 524 -> UNKNOWN;
            case 500 -> answer.json() ? REFUSED : FAILED;
            default -> answer.good() ? ACCEPTED : REFUSED;
        };
    }

    /**
     * What it says where the session was found to be there.
     *
     * @param error whether the answer is an error for this very message: then the server has read it whole
     */
    PostOutcome withSession(boolean error) {
        return switch (this) {
            case NO_SESSION, PERHAPS_NO_SESSION -> error ? REFUSED : DOUBTFUL;
            default -> this;
        };
    }

    private static boolean lostUnderWay(ExchangeEnd.Answer answer) {
        String body = new String(answer.body(), ISO_8859_1);
        return body.contains(ENVOY_LOST_IT) && !body.contains(ENVOY_NOT_SENT);
    }
}
