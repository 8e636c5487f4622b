package dev.holdfast.upstream;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.Requests;
import dev.holdfast.client.SendQueue;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.client.ServerSession.Successor;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.InboundMessage;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way to one session at the upstream, which may still be opening. Each message takes the forwarded headers of its own request
 * along; what has none takes those of the latest that had: the replay of the journal, GET and DELETE. Messages begin in the order in
 * which they came. Safe for use by any thread.
 */
final class UpstreamLink implements Requests.Customizer {
    private static final Logger log = LoggerFactory.getLogger(UpstreamLink.class);
    static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    /** So much may be on its way without a response, and one message more. */
    private static final long MOST_BYTES = 8 << 20;
    /** What a message costs that has no bytes: its request, and a connection. */
    private static final int MESSAGE_BYTES = 16 << 10;

    private final RequestRoom.OfSession room;
    private final CompletableFuture<ServerSession> session = new CompletableFuture<>();
    private final SendQueue<ServerSession> departures;
    private final AtomicLong posted = new AtomicLong();
    private volatile Object latest = ServerSession.NO_CONTEXT;
    private volatile Runnable stuck = () -> {};
    private volatile Consumer<Successor> successor = next -> {};

    /**
     * A way to a session that is not open.
     *
     * @param room what the messages of this session take
     */
    UpstreamLink(ScheduledExecutorService clock, RequestRoom.OfSession room) {
        this.room = room;
        this.departures =
                new SendQueue<>((millis, task) -> clock.schedule(task, millis, TimeUnit.MILLISECONDS), () -> session);
    }

    /** What its messages take; a request takes that before it is sent. */
    RequestRoom.OfSession room() {
        return room;
    }

    /** Sets what to do when more is on its way than may be; called before anything is sent. */
    void onStuck(Runnable hook) {
        stuck = hook;
    }

    /** Sets who takes the session that the upstream has opened when it was found to have lost this one; called before it is open. */
    void onSuccessor(Consumer<Successor> hook) {
        successor = hook;
    }

    /** The session is open. */
    void opened(ServerSession open) {
        session.complete(open);
    }

    @Override
    public CompletionStage<HttpRequest.Builder> customize(
            HttpRequest.Builder request, String method, URI uri, Optional<byte[]> body, Object context) {
        Object given = method.equals("POST") ? context : latest;
        return CompletableFuture.completedFuture(
                given instanceof ForwardedHeaders.Values headers ? headers.addTo(request) : request);
    }

    /** What goes along with a message. */
    Object context(InboundMessage message) {
        if (message.context() instanceof ForwardedHeaders.Values given) {
            latest = given;
        }
        return latest;
    }

    /** Sends a request, whose messages go to the sink. */
    CompletionStage<Outcome> call(Envelope request, Repeat repeat, Object context, MessageSink sink) {
        return departures.send(request, open -> open.call(request, repeat, context, sink));
    }

    /** Sends a message that has no response, unless too much is on its way already. */
    void post(Envelope envelope, Object context) {
        if (posted.get() > MOST_BYTES) {
            stuck.run();
            return;
        }
        int size = envelope.bytes().length;
        RequestRoom.Share share = room.takeAnyway(size);
        int weight = size + MESSAGE_BYTES;
        posted.addAndGet(weight);
        CompletableFuture<Outcome> sent = departures.send(envelope, open -> open.post(envelope, context));
        sent.thenAccept(outcome -> {
            posted.addAndGet(-weight);
            share.give();
            UpstreamErrors.ofPost(outcome).ifPresent(text -> log.warn("a message got lost: {}", text));
        });
    }

    /** The same with the latest context. */
    void post(byte[] message) {
        post(ENVELOPES.message(message), latest);
    }

    /** Opens the listening stream at the upstream, if it is not open. */
    void listen() {
        session.thenAccept(open -> open.listen(latest));
    }

    /** Ends the session at the upstream. */
    CompletionStage<Void> close() {
        room.close();
        return session.thenCompose(open -> {
            open.successor().ifPresent(successor);
            return open.close();
        });
    }
}
