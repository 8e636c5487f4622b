package dev.holdfast.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.client.wire.Origin;
import dev.holdfast.client.wire.SseEvent;
import dev.holdfast.json.Envelope;
import java.net.URI;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;

/**
 * A session over HTTP+SSE: one stream by GET on which everything comes, and an endpoint for POST that the stream names. A server
 * that gives event ids and names the same endpoint again has kept the session; every other one has begun a new one.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse">MCP, HTTP with SSE</a>
 */
final class HttpSseSession extends ServerSession {
    private static final String ENDPOINT = "endpoint";

    private final EventStream stream;
    private final CompletableFuture<Outcome> opened = new CompletableFuture<>();
    private volatile Optional<URI> endpoint = Optional.empty();

    /**
     * A session that was not opened yet.
     *
     * @param context handed to the customizer with the GET
     * @param listening takes what answers no request
     */
    HttpSseSession(RemoteServer server, Object context, MessageSink listening, SessionWatch watch) {
        super(server, listening, watch);
        this.stream = new EventStream(this, server.uri(), context, this);
    }

    /**
     * Opens the stream. The outcome is {@link Outcome.Done} when the server has named its endpoint.
     *
     * @param millis how long that may take
     */
    CompletionStage<Outcome> open(long millis) {
        Future<?> late = later(millis, () -> fail(new UnreadableMessageException("it names no endpoint")));
        stream.open();
        return opened.thenApply(outcome -> {
            late.cancel(false);
            return outcome;
        });
    }

    @Override
    void reached() {
        // the one stream is open, or the session is gone
    }

    /** They all do; the official Java server takes requests with 200. */
    @Override
    boolean answersLater(int status) {
        return true;
    }

    @Override
    boolean answersOnOneStream() {
        return true;
    }

    @Override
    CompletionStage<Void> other(SseEvent event) {
        if (event.name().equals(ENDPOINT)) {
            endpointNamed(new String(event.data(), UTF_8).strip());
        }
        return CompletableFuture.completedFuture(null);
    }

    private void endpointNamed(String text) {
        URI named;
        try {
            named = Origin.resolve(server.uri(), text);
        } catch (IllegalArgumentException e) {
            fail(new UnusableEndpointException("it is no URL"));
            return;
        }
        // credentials for one server are none of another's business
        Origin theirs = Origin.of(named);
        Origin asked = Origin.of(server.uri());
        if (theirs.host().isEmpty()) {
            fail(new UnusableEndpointException("it has no host"));
        } else if (!theirs.equals(asked)) {
            fail(new UnusableEndpointException("it is at " + theirs + ", which is another server than " + asked));
        } else if (endpoint.isEmpty()) {
            endpoint = Optional.of(named);
            opened.complete(new Outcome.Done());
        } else if (!endpoint.get().equals(named)) {
            lose(new HttpStatusException(404, "another endpoint was named".getBytes(UTF_8)));
        }
    }

    private void fail(Throwable cause) {
        stream.stop();
        if (!opened.complete(new Outcome.NotSent(cause))) {
            lose(cause);
        }
    }

    @Override
    void stopListening() {
        stream.stop();
    }

    @Override
    public CompletionStage<Outcome> call(
            Envelope request, Repeat repeat, Object context, ToldProgress told, MessageSink sink) {
        return usable(uri -> call(uri, request, repeat, context, told, sink));
    }

    @Override
    public CompletionStage<Outcome> post(Envelope message, Object context) {
        return usable(uri -> post(uri, message, context));
    }

    private CompletionStage<Outcome> usable(Function<URI, CompletionStage<Outcome>> send) {
        return loss().isPresent() || endpoint.isEmpty()
                ? CompletableFuture.completedFuture(new Outcome.SessionGone())
                : send.apply(endpoint.get());
    }

    @Override
    public void listen(Object context) {
        // everything comes on the one stream that is open
    }

    @Override
    public Optional<String> id() {
        return endpoint.map(URI::toString);
    }

    @Override
    CompletionStage<Void> message(Envelope message) {
        if (endpoint.isEmpty()) {
            fail(new UnreadableMessageException("a message comes before the endpoint"));
            return CompletableFuture.completedFuture(null);
        }
        return super.message(message);
    }

    @Override
    boolean opensAnew() {
        return endpoint.isEmpty();
    }

    @Override
    void lost(Loss loss) {
        Outcome refused = loss instanceof Loss.Refused answer
                ? new Outcome.Refused(
                        answer.answer().status(),
                        answer.answer().headers(),
                        answer.answer().body(),
                        answer.request())
                : new Outcome.NotSent(loss.cause());
        if (!opened.complete(refused)) {
            lose(loss.cause());
        }
    }

    @Override
    public CompletionStage<Void> close() {
        end();
        opened.complete(new Outcome.Closed());
        return CompletableFuture.completedFuture(null);
    }
}
