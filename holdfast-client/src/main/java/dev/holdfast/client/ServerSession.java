package dev.holdfast.client;

import dev.holdfast.client.Retry.OutageState;
import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.MarkedBody;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.Envelope;
import dev.holdfast.spi.RequestId;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One session at one server, however often its connections break: its id and revision, its messages in flight, and what is known of its
 * connections. Thread-safe; holds no thread.
 *
 * <p>No method waits: stages complete on the threads of the HTTP client or of its clock, and never with a failure.
 */
public abstract class ServerSession extends StreamOwner {
    /** The context of a message that has none. */
    public static final Object NO_CONTEXT = new Object();

    static final MessageSink NOBODY = message -> CompletableFuture.completedFuture(null);

    final RemoteServer server;
    final SessionWatch watch;
    final OutageState outage;
    final TakenEvents taken = new TakenEvents();
    final SessionProbe probe = new SessionProbe(this);

    private final MessageSink listener;
    /** Separate, because servers send heartbeats on the two kinds of streams at different rates. */
    private final HeartbeatWatch answers;

    private final HeartbeatWatch listening;
    private final Map<RequestId, MessageExchange> requests = new ConcurrentHashMap<>();
    private final Set<MessageExchange> inFlight = ConcurrentHashMap.newKeySet();
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> loss = new AtomicReference<>();
    private volatile Optional<String> sessionId = Optional.empty();
    private volatile Optional<String> revision;
    private volatile boolean closed;
    private volatile boolean worked;

    /** Whether a request whose fate is unknown may be sent once more. */
    public enum Repeat {
        /** It may: it reads, or does no more harm the second time. */
        HARMLESS,
        /** It must not. */
        NEVER
    }

    /** A session that the server has opened when it was asked whether it has lost another one. It ends soon unless somebody uses it. */
    public static final class Successor {
        private static final long LIFE_MILLIS = 30_000;

        final Optional<String> id;
        /** To its {@code initialize}. */
        final Envelope answer;

        private final AtomicBoolean taken = new AtomicBoolean();

        Successor(ServerSession session, Envelope answer) {
            this.id = session.id();
            this.answer = answer;
            session.later(LIFE_MILLIS, () -> {
                if (take()) {
                    CompletionStage<Void> unused = session.close();
                }
            });
        }

        /** Somebody wants to go on in it; false if that is too late, or was done. */
        boolean take() {
            return taken.compareAndSet(false, true);
        }
    }

    /**
     * A session that was not opened yet.
     *
     * @param listener takes what belongs to no request
     */
    ServerSession(RemoteServer server, MessageSink listener, SessionWatch watch) {
        this.server = server;
        this.listener = listener;
        this.watch = watch;
        this.outage = new OutageState(watch);
        this.answers = new HeartbeatWatch(server.limits().silence());
        this.listening = new HeartbeatWatch(server.limits().silence());
        this.revision = server.requests().revision();
    }

    /**
     * Sends a request. What comes on its stream goes to the sink, the response last; the sink gets the response before the stage
     * completes.
     *
     * @param context handed to the {@link Requests.Customizer} with each request that is made for this message
     * @param told what was told of its progress by sessions before
     */
    public abstract CompletionStage<Outcome> call(
            Envelope request, Repeat repeat, Object context, ToldProgress told, MessageSink sink);

    /** The same for a request that is in no other session. */
    public final CompletionStage<Outcome> call(Envelope request, Repeat repeat, Object context, MessageSink sink) {
        return call(request, repeat, context, new ToldProgress(), sink);
    }

    /** Sends a notification or a response. It may arrive twice. */
    public abstract CompletionStage<Outcome> post(Envelope message, Object context);

    /** Opens the stream for what belongs to no request, if it is not open; a session that begins with {@code initialize} does so itself. */
    public abstract void listen(Object context);

    /** The id that the server gave the session; a server without sessions gives none. */
    public abstract Optional<String> id();

    /** The session that the server has opened in the place of this one when it was asked whether this is lost; empty where it was not. */
    public Optional<Successor> successor() {
        return Optional.empty();
    }

    /**
     * Ends the session, and tells the server: what is under way ends at once, but for a response that is being taken, whose call ends with
     * that. The stage completes when the server was told, or after 5 s.
     */
    public abstract CompletionStage<Void> close();

    /** The resources of which the server has agreed to tell, where the session knows that: after a gap each may have changed. */
    public Set<String> subscribed() {
        return Set.of();
    }

    abstract void reached();

    /**
     * Whether the response of a request can come on another stream, which is open or will be, where the server has taken the
     * request with this status and without a response.
     */
    abstract boolean answersLater(int status);

    /** Whether all responses come on the one stream of the session. */
    abstract boolean answersOnOneStream();

    /** The stream for what belongs to no request is not wanted any more. */
    abstract void stopListening();

    /**
     * Asks the server for another session, where a ping was refused in this one, and says what that finds out. The stage never fails.
     *
     * @param pinged what the ping has found out
     */
    CompletionStage<SessionProbe.Finding> another(Object context, SessionProbe.Finding pinged) {
        return CompletableFuture.completedFuture(pinged);
    }

    /** Sends a request to an address of the session. */
    final CompletionStage<Outcome> call(
            URI uri, Envelope request, Repeat repeat, Object context, ToldProgress told, MessageSink sink) {
        RequestId id = request.id().orElseThrow(() -> new IllegalArgumentException(request + " is no request"));
        MessageExchange exchange = new MessageExchange(this, uri, request, repeat, context, told, sink);
        int most = server.limits().inFlight();
        if (calls.incrementAndGet() > most) {
            calls.decrementAndGet();
            return refused("there are " + most + " requests in flight");
        }
        // whoever has the response may use its id again before this knows that the response was taken
        if (requests.merge(id, exchange, (old, next) -> old.response().taken() ? next : old) != exchange) {
            calls.decrementAndGet();
            return refused("a request with the id " + id + " is in flight");
        }
        return send(exchange).thenApply(outcome -> {
            requests.remove(id, exchange);
            calls.decrementAndGet();
            return noticed(outcome);
        });
    }

    private static CompletionStage<Outcome> refused(String reason) {
        return CompletableFuture.completedFuture(new Outcome.NotSent(new NotTakenException(reason)));
    }

    /** Sends what has no response to an address of the session. */
    final CompletionStage<Outcome> post(URI uri, Envelope message, Object context) {
        message.cancelledRequest().ifPresent(this::cancel);
        return send(new MessageExchange(this, uri, message, Repeat.HARMLESS, context, new ToldProgress(), NOBODY))
                .thenApply(this::noticed);
    }

    /** Gives up a request that is on its way. */
    final void cancel(RequestId request) {
        MessageExchange exchange = requests.get(request);
        if (exchange != null) {
            exchange.cancel();
        }
    }

    /** Whether the server is told of a request that is given up, and then ends its stream itself. */
    boolean endsCancelled() {
        return true;
    }

    /** Whether a message goes to the server though the session was closed on this side. */
    boolean outlasts(Envelope message) {
        return false;
    }

    /** Completes when none is under way that outlasts the session, or after a while. */
    final CompletionStage<Void> lasting(long mostMillis) {
        return CompletableFuture.allOf(
                        inFlight.stream().map(MessageExchange::outcome).toArray(CompletableFuture[]::new))
                .completeOnTimeout(null, mostMillis, TimeUnit.MILLISECONDS);
    }

    private CompletionStage<Outcome> send(MessageExchange exchange) {
        inFlight.add(exchange);
        if (closed && !outlasts(exchange.message)) {
            exchange.close();
        } else {
            loss().ifPresentOrElse(exchange::sessionLost, exchange::send);
        }
        return exchange.outcome().thenApply(outcome -> {
            inFlight.remove(exchange);
            return outcome;
        });
    }

    private Outcome noticed(Outcome outcome) {
        if (outcome instanceof Outcome.Unknown lost && lost.sessionGone()) {
            lose(lost.cause());
        } else if (outcome instanceof Outcome.SessionGone) {
            gone();
        }
        return outcome;
    }

    /** The session was found to be lost. */
    final void gone() {
        lose(new HttpStatusException(404, new byte[0]));
    }

    /** The session counts as lost: each message ends, unless its POST or its stream may still bring an answer. */
    public final void lose(Throwable cause) {
        if (loss.compareAndSet(null, cause)) {
            stopListening();
            watch.gone(this);
            inFlight.forEach(exchange -> exchange.sessionLost(cause));
        }
    }

    /** Why the session counts as lost; empty while it does not. */
    final Optional<Throwable> loss() {
        return Optional.ofNullable(loss.get());
    }

    /** Ends the session and its messages on this side. */
    final void end() {
        closed = true;
        outage.end();
        stopListening();
        inFlight.stream().filter(exchange -> !outlasts(exchange.message)).forEach(MessageExchange::close);
    }

    /** Whether the session was ended on this side. */
    final boolean closed() {
        return closed;
    }

    /** Whether it was ended on this side, or lost. */
    @Override
    final boolean complete() {
        return closed || loss.get() != null;
    }

    /** Takes a message of the listening stream: a response goes to its request, if that still waits. */
    @Override
    CompletionStage<Void> message(Envelope message) {
        return route(message, listener);
    }

    private CompletionStage<Void> route(Envelope message, MessageSink others) {
        if (MessageBodies.isProgress(message)) {
            return progress(message, owner(message), others);
        }
        if (!MessageBodies.isResponse(message)) {
            return others.message(message);
        }
        MessageExchange waiting = owner(message);
        return waiting == null ? NOBODY.message(message) : waiting.message(message);
    }

    /**
     * Takes a message other than the response that came on the stream of a request. Some servers replay the messages of other streams
     * there.
     */
    final CompletionStage<Void> route(Envelope message, MessageExchange cameTo, MessageSink sink) {
        if (MessageBodies.isProgress(message)) {
            return progress(message, cameTo.response().concerns(message) ? cameTo : owner(message), sink);
        }
        return MessageBodies.isResponse(message) && message.id().isPresent()
                ? route(message, NOBODY)
                : sink.message(message);
    }

    private static CompletionStage<Void> progress(Envelope message, @Nullable MessageExchange owner, MessageSink sink) {
        return owner == null ? sink.message(message) : owner.response().progress(message, sink);
    }

    /**
     * Whether a message of the listening stream is left to the stream of its request. Some servers send progress on the listening stream
     * only.
     */
    final boolean leavesToOwner(Envelope message) {
        MessageExchange owner = owner(message);
        return owner != null
                && (MessageBodies.isResponse(message) || owner.response().tellsProgress())
                && owner.awaits(message);
    }

    /** Whether a message that came on the stream of one request is left to the stream of another. */
    final boolean leavesToOwner(Envelope message, MessageExchange cameTo) {
        MessageExchange owner = owner(message);
        return owner != null && owner != cameTo && owner.awaits(message);
    }

    /** The request that a response or a progress notification belongs to. */
    private @Nullable MessageExchange owner(Envelope message) {
        if (MessageBodies.isResponse(message)) {
            return message.id().map(requests::get).orElse(null);
        }
        if (MessageBodies.isProgress(message)) {
            for (MessageExchange exchange : requests.values()) {
                if (exchange.response().concerns(message)) {
                    return exchange;
                }
            }
        }
        return null;
    }

    /** The listening stream is lost, and with it the answers of requests that were accepted with 202. */
    final void lostElsewhere() {
        requests.values().forEach(MessageExchange::lostElsewhere);
    }

    /** An answer that cannot be read has come on the listening stream. */
    @Override
    final boolean unreadable(RequestId request, Throwable why) {
        MessageExchange waiting = requests.get(request);
        if (waiting != null) {
            waiting.unreadableElsewhere(why);
        }
        return false;
    }

    @Override
    final boolean ofOneRequest() {
        return false;
    }

    /** The listening stream was half-open; the streams of requests may be too, and those that can be resumed are. */
    @Override
    final void silent() {
        requests.values().forEach(MessageExchange::suspect);
    }

    final void accepted(Envelope message, HttpHeaders headers) {
        reached();
        if (message.method().equals("initialize")) {
            headers.firstValue("mcp-session-id").ifPresent(this::named);
        } else {
            worked = true;
        }
    }

    final void named(String given) {
        sessionId = Optional.of(given);
    }

    /** The id that its requests carry in their heads. */
    final Optional<String> sessionId() {
        return sessionId;
    }

    /** The revision was negotiated. What is no revision is not sent back. */
    final void negotiated(String agreed) {
        if (!agreed.isEmpty() && agreed.chars().allMatch(c -> c > ' ' && c <= '~')) {
            revision = Optional.of(agreed);
        }
    }

    /** How a POST says that it belongs to the session. */
    final PostOutcome.Session addressing() {
        if (answersOnOneStream()) {
            return PostOutcome.Session.ADDRESS;
        }
        return sessionId.isPresent() ? PostOutcome.Session.ID : PostOutcome.Session.NONE;
    }

    /**
     * Whether a refusal may be about the session: only once a message was accepted in it. Before, a server may refuse what it accepts
     * later, and may not like to be asked.
     */
    final boolean mayBeLost() {
        return worked && sessionId.isPresent();
    }

    final Future<?> later(long millis, Runnable task) {
        return server.later(millis, task);
    }

    final CompletionStage<HttpRequest> postRequest(URI uri, Envelope message, Object context) {
        byte[] body = message.bytes();
        return server.requests().make("POST", uri, Optional.of(body), context, request -> {
            headers(request, "application/json, text/event-stream")
                    .header("Content-Type", "application/json; charset=utf-8")
                    .POST(new MarkedBody(body));
            repeated(message).forEach(request::header);
            return request;
        });
    }

    /** The headers that repeat what a message says. */
    Map<String, String> repeated(Envelope message) {
        return Map.of();
    }

    final CompletionStage<HttpRequest> getRequest(URI uri, Optional<String> lastEventId, Object context) {
        return server.requests().make("GET", uri, Optional.empty(), context, request -> {
            headers(request, "text/event-stream")
                    .header("Cache-Control", "no-cache")
                    .GET();
            lastEventId.ifPresent(cursor -> request.header("Last-Event-ID", cursor));
            return request;
        });
    }

    final CompletionStage<HttpRequest> deleteRequest(URI uri, Object context) {
        return server.requests()
                .make(
                        "DELETE",
                        uri,
                        Optional.empty(),
                        context,
                        request -> headers(request, "application/json").DELETE());
    }

    private HttpRequest.Builder headers(HttpRequest.Builder request, String accepted) {
        request.header("Accept", accepted).header("Accept-Encoding", "identity");
        sessionId.ifPresent(given -> request.header("Mcp-Session-Id", given));
        revision.ifPresent(agreed -> request.header("MCP-Protocol-Version", agreed));
        return request;
    }

    /** Whether the server is known to send the head of a stream at once. */
    final boolean headsAtOnce() {
        return answers.headsAtOnce() || listening.headsAtOnce();
    }

    /** An exchange whose stream, if there is one, answers a request; it has not begun. */
    HttpExchange answering(HttpRequest request, StreamHandler handler) {
        return exchange(request, handler, answers);
    }

    /** An exchange whose stream belongs to no request; it has not begun. */
    final HttpExchange listening(HttpRequest request, StreamHandler handler) {
        return exchange(request, handler, listening);
    }

    private HttpExchange exchange(HttpRequest request, StreamHandler handler, HeartbeatWatch heartbeats) {
        return new HttpExchange(server.resources(), request, server.limits().messageBytes(), heartbeats, handler);
    }
}
