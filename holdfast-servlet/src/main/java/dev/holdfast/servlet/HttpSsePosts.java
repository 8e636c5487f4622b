package dev.holdfast.servlet;

import dev.holdfast.Call;
import dev.holdfast.Session;
import dev.holdfast.json.Envelope;
import dev.holdfast.servlet.guard.Rejection;
import dev.holdfast.servlet.http.Acceptances;
import dev.holdfast.servlet.http.Exchange;
import dev.holdfast.servlet.http.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** The POSTs of HTTP+SSE: their session is named by the query, and their answer is 202. */
final class HttpSsePosts implements PostFace {
    private final HttpSsePeers peers;
    private final Sessions sessions;
    private final Acceptances acceptances;

    /**
     * @param absent what a client is told whose session is not there
     */
    HttpSsePosts(FaceContext context, HttpSsePeers peers, Rejection absent) {
        this.peers = peers;
        this.sessions = new Sessions(
                context.engine(),
                exchange -> exchange.parameter("sessionId"),
                Rejection.malformed("the sessionId parameter is missing"),
                absent,
                session -> session.listensOnly() && peers.mayBeThere(session.id()));
        this.acceptances = new Acceptances(context.clock());
    }

    /** The sessions of this protocol. */
    Sessions sessions() {
        return sessions;
    }

    @Override
    public boolean opens() {
        return false;
    }

    /** The GET has opened the session: {@code initialize} is a call in it. */
    @Override
    public Optional<Step> open(Exchange exchange, Envelope request) {
        return Optional.empty();
    }

    @Override
    public Step find(Exchange exchange, Optional<RequestId> message, Function<Session, Step> then) {
        return sessions.find(
                exchange,
                message,
                session -> exchange.when(
                        peers.there(session.id()),
                        message,
                        there -> there
                                ? then.apply(session)
                                : exchange.reply(sessions.unknown(session.id()).to(message))));
    }

    @Override
    public Step run(Exchange exchange, Session session, Call call, List<InboundMessage> requests) {
        return acceptances.accept(exchange, call);
    }

    void stop() {
        acceptances.stop();
    }
}
