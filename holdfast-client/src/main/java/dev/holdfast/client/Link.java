package dev.holdfast.client;

import dev.holdfast.client.wire.HeartbeatWatch;
import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.client.wire.Means;
import dev.holdfast.client.wire.SentMark;
import dev.holdfast.client.wire.StreamHandler;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** What everything that belongs to one session shares: its server, its id and revision, and what is known of its connections. */
final class Link {
    private final RemoteServer server;
    /** Answers and the listening stream may be silent for other times. */
    private final HeartbeatWatch answers;

    private final HeartbeatWatch listening;
    private final Outage outage;
    private final Runnable reached;
    private volatile Optional<String> id = Optional.empty();
    private volatile Optional<String> revision;

    /**
     * The link of a session that has no id yet.
     *
     * @param reached runs whenever the server has accepted a message
     */
    Link(RemoteServer server, SessionWatch watch, Runnable reached) {
        this.server = server;
        this.reached = reached;
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

    /** The server has accepted a message. */
    void reached() {
        reached.run();
    }

    /** The revision was negotiated. */
    void negotiated(String agreed) {
        revision = Optional.of(agreed);
    }

    /** A patience that begins to run when something fails. */
    Patience patience() {
        return new Patience(limits().patience(), server.means().random(), System::nanoTime);
    }

    /** Runs a task later, and not on the clock's own thread: it may ask for credentials. */
    Future<?> later(long millis, Runnable task) {
        Means means = server.means();
        return means.clock().schedule(() -> means.delivery().execute(task), millis, TimeUnit.MILLISECONDS);
    }

    CompletionStage<HttpRequest> post(URI uri, byte[] body, Object context) {
        HttpRequest.Builder request = headers("application/json, text/event-stream")
                .header("Content-Type", "application/json; charset=utf-8")
                .POST(new SentMark(BodyPublishers.ofByteArray(body)));
        return customized(request, "POST", uri, Optional.of(body), context);
    }

    CompletionStage<HttpRequest> get(URI uri, Optional<String> lastEventId, Object context) {
        HttpRequest.Builder request = headers("text/event-stream").GET();
        lastEventId.ifPresent(cursor -> request.header("Last-Event-ID", cursor));
        return customized(request, "GET", uri, Optional.empty(), context);
    }

    CompletionStage<HttpRequest> delete(URI uri, Object context) {
        return customized(headers("application/json").DELETE(), "DELETE", uri, Optional.empty(), context);
    }

    private HttpRequest.Builder headers(String accepted) {
        HttpRequest.Builder request =
                server.requests().template().copy().header("Accept", accepted).header("Cache-Control", "no-cache");
        id.ifPresent(given -> request.header("Mcp-Session-Id", given));
        revision.ifPresent(agreed -> request.header("MCP-Protocol-Version", agreed));
        return request;
    }

    private CompletionStage<HttpRequest> customized(
            HttpRequest.Builder request, String method, URI uri, Optional<byte[]> body, Object context) {
        try {
            return server.requests()
                    .customizer()
                    .customize(request.uri(uri), method, uri, body, context)
                    .thenApply(HttpRequest.Builder::build);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Whether the server is known to send the head of a stream at once. */
    boolean headsAtOnce() {
        return answers.headsAtOnce() || listening.headsAtOnce();
    }

    /** An exchange whose stream, if there is one, answers a request; it has not begun. */
    HttpExchange answering(HttpRequest request, StreamHandler handler) {
        return new HttpExchange(server.means(), request, limits().messageBytes(), answers, handler);
    }

    /** An exchange whose stream belongs to no request; it has not begun. */
    HttpExchange listening(HttpRequest request, StreamHandler handler) {
        return new HttpExchange(server.means(), request, limits().messageBytes(), listening, handler);
    }
}
