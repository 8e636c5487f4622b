package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.session.Lifecycle.Move;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** The whole session, as its parts call it. What takes no {@link Step} is called without the session's lock. */
interface SessionOwner extends SessionLog.Owner {
    String id();

    /** Lets everything go that this move has closed. */
    void closed(Move move);

    /** Hands the requests of a call to the backend, by one task on an executor. */
    void dispatch(LiveCall call, Executor caller);

    /** Appends to the stream of a call what an incarnation of the backend sends for a request that is in its hands. */
    CompletionStage<Void> send(CallRequest.Held held, OutboundMessage message);

    /** Sends the client of a request away for a while, if the request is in these hands. */
    void disconnect(CallRequest.Held held, Duration retry);

    /** Answers a question of this incarnation of the backend, if that is still there. */
    void answer(int incarnation, InboundMessage response);

    /** Finds out who follows a request from now on. */
    CallWatch watch(InboundMessage request, boolean again);

    /** An incarnation of the backend has accepted a request that has changed the session's journal. */
    void accepted(InboundMessage request, int incarnation, Step step);
}
