package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.Session;
import dev.holdfast.json.Envelope;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** What the faces do differently with a POST. */
interface PostFace {
    /** Whether a POST of {@code initialize} opens a session here, whatever session it names. */
    boolean opens();

    /** Opens a session by {@code initialize} and answers the POST; empty if that is a call in an open session here. */
    Optional<Step> open(Exchange exchange, Envelope initialize);

    /**
     * Finds the session that a POST is for, and goes on with it; answers the POST if there is none.
     *
     * @param message the request it carries, if it carries one
     */
    Step find(Exchange exchange, Optional<RequestId> message, Function<Session, Step> then);

    /** Answers the POST of a call that was taken, and hands the call to the backend. */
    Step run(Exchange exchange, Session session, Call call, List<InboundMessage> requests);
}
