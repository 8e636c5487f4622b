package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.Session;
import dev.holdfast.json.Envelope;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.function.Function;

/** What the faces do differently with a POST. */
interface PostFace {
    /** Opens a session and answers the POST, if this request does that here; empty if it is a call in an open session. */
    Optional<Step> open(Exchange exchange, Envelope request);

    /**
     * Finds the session that a POST is for, and goes on with it; answers the POST if there is none.
     *
     * @param message the request it carries, if it carries one
     */
    Step find(Exchange exchange, Optional<RequestId> message, Function<Session, Step> then);

    /** Answers the POST of a call that was taken, and hands the call to the backend. */
    Step run(Exchange exchange, Session session, Call call);
}
