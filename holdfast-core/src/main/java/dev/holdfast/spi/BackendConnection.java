package dev.holdfast.spi;

import java.util.concurrent.CompletionStage;

/**
 * The way from one session to its backend. A connection is not a session: every call brings its own sink, and what is known of
 * a call travels with it. The engine calls these methods from any thread, without a lock, in the order the messages came.
 */
public interface BackendConnection {
    /**
     * Starts a call. May run it to its end on the calling thread; what it sends goes to the sink. What it throws is reported to the
     * client as an internal error, unless the request was given back meanwhile ({@link ListeningSink#lost(String, java.util.List)}).
     *
     * @param request a request. A client may use one id, and one progress token, for several calls at once, whose answers it tells apart
     *     by their streams: the sink knows the call
     * @param sink takes the call's messages, its response last
     */
    void call(InboundMessage request, CallSink sink);

    /**
     * Sends a request again that the connection before this one has accepted, such as a log level or a subscription. By default it is a
     * call like any. An error says that this backend is none in which the session can go on, and ends the session; where the session can
     * do without, a backend tells its log and answers with a response.
     *
     * @param request a request from the session's journal; its id may be that of a call that waits
     * @param sink takes its response or error; what comes before that is dropped
     */
    default void replay(InboundMessage request, CallSink sink) {
        call(request, sink);
    }

    /**
     * Hands over a notification of the client, in order. {@code notifications/cancelled} never comes this way. What this throws is logged,
     * and changes nothing.
     */
    void notify(InboundMessage notification);

    /**
     * Hands over the client's answer to a request this connection sent; once at most for each. What this throws is logged, and changes
     * nothing.
     */
    void answer(InboundMessage response);

    /**
     * Ends the connection and everything it holds; calling it again changes nothing. A message that was on its way may come
     * after it, and is dropped.
     *
     * @return completes when nothing of the connection is left; a drain waits for it some 10 s at most. A failure is logged
     */
    CompletionStage<Void> close();
}
