package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.Session;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** What the two wire protocols do differently with a POST. */
interface PostFace {
    /** Whether {@code initialize} opens a session; else it is a call in one that is open. */
    boolean initializeOpens();

    /** Why nothing that a POST may carry is of use, as far as its head tells. */
    CompletionStage<Optional<Rejection>> checkSession(Exchange exchange);

    /**
     * Finds the session that a POST is for, and goes on with it; answers the POST if there is none.
     *
     * @param message the request it carries, if it carries one
     */
    void find(Exchange exchange, Optional<RequestId> message, Consumer<Session> then);

    /** Answers the POST of a call that was taken, and hands the call to the backend. */
    void run(Exchange exchange, Session session, Call call);
}
