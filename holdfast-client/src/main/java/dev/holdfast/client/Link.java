package dev.holdfast.client;

import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.MarkedBody;
import dev.holdfast.client.wire.StreamHandler;
import dev.holdfast.json.Envelope;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What everything that belongs to one session shares: its server, its id and revision, and what is known of its connections. */
final class Link {
    private final RemoteServer server;
    /** Answers and the listening stream may be silent for other times. */
    private final HeartbeatWatch answers;

    private final HeartbeatWatch listening;
    private final TakenEvents taken = new TakenEvents();
    private final Doubt doubt = new Doubt(this);
    private final Outage outage;
    private final Host host;
    private volatile Optional<String> id = Optional.empty();
    private volatile Optional<String> revision;
    private volatile boolean closed;
    private volatile boolean worked;
    private final AtomicReference<@Nullable Throwable> loss = new AtomicReference<>();

    /** Whose session it is. */
    interface Host {
        /** The server has accepted a message. */
        void reached();

        /**
         * Whether the response of a request can come on another stream, which is open or will be, where the server has taken the
         * request with this status and without a response.
         */
        boolean answersLater(int status);

        /** Whether all responses come on the one stream of the session. */
        boolean answersOnOneStream();

        /**
         * Asks the server for another session, where a ping was refused in this one, and says what that finds out. The stage never fails.
         *
         * @param pinged what the ping has found out
         */
        default CompletionStage<Probe.Finding> another(Object context, Probe.Finding pinged) {
            return CompletableFuture.completedFuture(pinged);
        }

        /** The session was found to be lost. */
        void gone();
    }

    /** The link of a session that has no id yet. */
    Link(RemoteServer server, SessionWatch watch, Host host) {
        this.server = server;
        this.host = host;
        this.answers = new HeartbeatWatch(server.limits().silence());
        this.listening = new HeartbeatWatch(server.limits().silence());
        this.outage = new Outage(watch);
        this.revision = server.requests().revision();
    }

    RemoteServer server() {
        return server;
    }

    ClientLimits limits() {
        return server.limits();
    }

    /** What was taken on its streams. */
    TakenEvents taken() {
        return taken;
    }

    Outage outage() {
        return outage;
    }

    Optional<String> id() {
        return id;
    }

    /** The server has given the session an id. */
    void named(String given) {
        id = Optional.of(given);
    }

    /** Whether the session has worked: what the server refuses before that it may give later, and it may not like to be asked meanwhile. */
    boolean worked() {
        return worked;
    }

    /** The session is ended on this side: what breaks from now on breaks because of that. */
    void close() {
        closed = true;
    }

    /** Whether the session was ended on this side. */
    boolean closed() {
        return closed;
    }

    /** The server does not have the session any more; returns whether that is news. */
    boolean lose(Throwable cause) {
        return loss.compareAndSet(null, cause);
    }

    /** How it was found out that the server does not have the session any more, if it does not. */
    Optional<Throwable> loss() {
        return Optional.ofNullable(loss.get());
    }

    /** The server has accepted a message. */
    void accepted(Envelope message, HttpHeaders headers) {
        host.reached();
        if (message.method().equals("initialize")) {
            headers.firstValue("mcp-session-id").ifPresent(this::named);
        } else {
            worked = true;
        }
    }

    /** Whether the response of a request that was taken with this status, and without one, can come on another stream. */
    boolean answersLater(int status) {
        return host.answersLater(status);
    }

    /** Whether all responses come on the one stream of the session. */
    boolean answersOnOneStream() {
        return host.answersOnOneStream();
    }

    /** Whether a refusal may mean the session: there is one, which has worked, and each message names it. */
    boolean mayBeLost() {
        return worked && id.isPresent();
    }

    /** Finds out whether the server still has the session. */
    Doubt doubt() {
        return doubt;
    }

    CompletionStage<Probe.Finding> another(Object context, Probe.Finding pinged) {
        return host.another(context, pinged);
    }

    /** The session was found to be lost. */
    void gone() {
        host.gone();
    }

    /** The revision was negotiated. What is no revision is not sent back. */
    void negotiated(String agreed) {
        if (!agreed.isEmpty() && agreed.chars().allMatch(c -> c > ' ' && c <= '~')) {
            revision = Optional.of(agreed);
        }
    }

    /** A patience that begins to run when something fails. */
    Patience patience() {
        return server.patience();
    }

    Future<?> later(long millis, Runnable task) {
        return server.later(millis, task);
    }

    CompletionStage<HttpRequest> post(URI uri, byte[] body, Object context) {
        return customized(
                () -> headers("application/json, text/event-stream")
                        .header("Content-Type", "application/json; charset=utf-8")
                        .POST(new MarkedBody(body)),
                "POST",
                uri,
                Optional.of(body),
                context);
    }

    CompletionStage<HttpRequest> get(URI uri, Optional<String> lastEventId, Object context) {
        return customized(
                () -> {
                    HttpRequest.Builder request = headers("text/event-stream")
                            .header("Cache-Control", "no-cache")
                            .GET();
                    lastEventId.ifPresent(cursor -> request.header("Last-Event-ID", cursor));
                    return request;
                },
                "GET",
                uri,
                Optional.empty(),
                context);
    }

    CompletionStage<HttpRequest> delete(URI uri, Object context) {
        return customized(() -> headers("application/json").DELETE(), "DELETE", uri, Optional.empty(), context);
    }

    private HttpRequest.Builder headers(String accepted) {
        HttpRequest.Builder request = UserAgent.addTo(
                        server.requests().template().copy())
                .header("Accept", accepted)
                .header("Accept-Encoding", "identity");
        id.ifPresent(given -> request.header("Mcp-Session-Id", given));
        revision.ifPresent(agreed -> request.header("MCP-Protocol-Version", agreed));
        return request;
    }

    private CompletionStage<HttpRequest> customized(
            Supplier<HttpRequest.Builder> made, String method, URI uri, Optional<byte[]> body, Object context) {
        try {
            return server.requests()
                    .customizer()
                    .customize(made.get().uri(uri), method, uri, body, context)
                    .thenApply(request -> UserAgent.behindOthers(request.build()));
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Whether the server is known to send the head of a stream at once. */
    boolean headsAtOnce() {
        return answers.headsAtOnce() || listening.headsAtOnce();
    }

    /** An exchange whose stream, if there is one, answers a request; it has not begun. */
    HttpExchange answering(HttpRequest request, StreamHandler handler) {
        return new HttpExchange(server.resources(), request, limits().messageBytes(), answers, handler);
    }

    /** An exchange whose stream belongs to no request; it has not begun. */
    HttpExchange listening(HttpRequest request, StreamHandler handler) {
        return new HttpExchange(server.resources(), request, limits().messageBytes(), listening, handler);
    }
}
