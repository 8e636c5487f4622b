package dev.holdfast.client;

import dev.holdfast.client.ServerSession.Successor;
import dev.holdfast.json.Envelope;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Opens sessions at a server, over the protocol that it speaks. */
public final class SessionOpener {
    /** Which protocol a server is spoken to. */
    public enum Protocol {
        /**
         * Streamable HTTP, be it without sessions where the server knows no {@code initialize}, and HTTP+SSE where it refuses the first
         * POST with 400, 404 or 405.
         */
        AUTOMATIC,
        /** Streamable HTTP only, be it without sessions. */
        STREAMABLE_HTTP,
        /** HTTP+SSE (2024-11-05) only; the URL is that of its GET. */
        HTTP_SSE
    }

    /** What became of the attempt. */
    public sealed interface Result {}

    /** The session is open: the response to {@code initialize} was handed over, and is a result. */
    public record Opened(ServerSession session) implements Result {}

    /** There is no session. Where the server answered with an error, that was handed over and the outcome is {@link Outcome.Done}. */
    public record NotOpened(Outcome outcome) implements Result {}

    /** How long a server that refused Streamable HTTP may take to name its endpoint of HTTP+SSE. */
    private static final long FALLBACK_MILLIS = 10_000;

    private static final Set<Integer> FALLBACKS = Set.of(400, 404, 405);

    private final RemoteServer server;
    private final MessageSink listening;
    private final SessionWatch watch;
    /** What is being opened, and what was; kept to be closed. */
    private final Set<ServerSession> begun = ConcurrentHashMap.newKeySet();

    private volatile boolean closed;
    private volatile Optional<Successor> successor = Optional.empty();

    /**
     * What sessions have in common that are opened by this.
     *
     * @param listening takes what belongs to no request
     */
    public SessionOpener(RemoteServer server, MessageSink listening, SessionWatch watch) {
        this.server = server;
        this.listening = listening;
        this.watch = watch;
    }

    /** The same, whose first session goes on in one that the server has opened already, if there is one. */
    public SessionOpener in(Optional<Successor> opened) {
        successor = opened;
        return this;
    }

    /** A session that begins without {@code initialize}, as servers without sessions allow. */
    public ServerSession unopened() {
        return new StreamableSession(server, listening, watch);
    }

    /**
     * Opens a session.
     *
     * @param initialize the request
     * @param context handed to the {@link Requests.Customizer}
     * @param sink takes what comes on the stream of the request, its response last
     */
    public CompletionStage<Result> open(Protocol protocol, Envelope initialize, Object context, MessageSink sink) {
        if (protocol == Protocol.HTTP_SSE) {
            return overHttpSse(
                    initialize, context, sink, server.limits().retryTimeout().toMillis(), NotOpened::new);
        }
        StreamableSession session = new StreamableSession(server, listening, watch);
        began(session);
        if (successor.filter(Successor::take).isPresent()) {
            return session.goOn(successor.get(), initialize, context, sink)
                    .handle((taken, failure) ->
                            failure == null ? new Opened(session) : notOpened(session, new Outcome.Closed()));
        }
        AtomicReference<@Nullable Envelope> doubtful = new AtomicReference<>();
        MessageSink answers = message -> {
            boolean doubt = message.kind() == Envelope.Kind.ERROR
                    && message.id().equals(initialize.id())
                    && StatelessSession.mayBeModern(message);
            if (doubt) {
                doubtful.set(message);
                return CompletableFuture.completedFuture(null);
            }
            return sink.message(message);
        };
        return initialize(session, initialize, context, answers).thenCompose(result -> {
            Optional<Outcome.Refused> refused =
                    result instanceof NotOpened not && not.outcome() instanceof Outcome.Refused refusal
                            ? Optional.of(refusal)
                            : Optional.empty();
            Optional<Envelope> error = Optional.ofNullable(doubtful.get());
            boolean mayBeModern = error.or(() -> refused.flatMap(
                            refusal -> refusal.error(initialize.id().orElseThrow())))
                    .filter(StatelessSession::mayBeModern)
                    .isPresent();
            boolean old = protocol == Protocol.AUTOMATIC
                    && refused.filter(refusal -> FALLBACKS.contains(refusal.status()))
                            .isPresent();
            Supplier<CompletionStage<Result>> otherwise = () -> old
                    ? overHttpSse(
                            initialize,
                            context,
                            sink,
                            FALLBACK_MILLIS,
                            outcome -> speaksHttpSse(outcome) ? new NotOpened(outcome) : result)
                    : error.map(sink::message)
                            .orElse(CompletableFuture.completedFuture(null))
                            .thenApply(taken -> result);
            return mayBeModern ? stateless(initialize, context, sink, otherwise) : otherwise.get();
        });
    }

    /** Goes on with a server that has no sessions, if it is one. */
    private CompletionStage<Result> stateless(
            Envelope initialize, Object context, MessageSink sink, Supplier<CompletionStage<Result>> otherwise) {
        StatelessSession session = new StatelessSession(server, initialize, listening, watch);
        began(session);
        return session.open(context, sink).thenCompose(opened -> {
            if (opened) {
                return CompletableFuture.completedFuture(new Opened(session));
            }
            begun.remove(session);
            CompletionStage<Void> unused = session.close();
            return otherwise.get();
        });
    }

    /** A server that refuses Streamable HTTP and names an endpoint, be it one that cannot be used, has nothing else. */
    private static boolean speaksHttpSse(Outcome outcome) {
        return outcome instanceof Outcome.NotSent not && not.cause() instanceof UnusableEndpointException;
    }

    private void began(ServerSession session) {
        begun.add(session);
        if (closed) {
            CompletionStage<Void> unused = session.close();
        }
    }

    /** Ends what this has begun: an opening that is under way is given up, and a session that was opened is closed. */
    public void close() {
        closed = true;
        for (ServerSession session : begun) {
            CompletionStage<Void> unused = session.close();
        }
    }

    /**
     * Opens a session over HTTP+SSE.
     *
     * @param none the result where the server names no endpoint
     */
    private CompletionStage<Result> overHttpSse(
            Envelope initialize, Object context, MessageSink sink, long millis, Function<Outcome, Result> none) {
        HttpSseSession session = new HttpSseSession(server, context, listening, watch);
        began(session);
        return session.open(millis).thenCompose(outcome -> {
            if (outcome instanceof Outcome.Done) {
                return initialize(session, initialize, context, sink);
            }
            begun.remove(session);
            return CompletableFuture.completedFuture(none.apply(outcome));
        });
    }

    private Result notOpened(ServerSession session, Outcome outcome) {
        begun.remove(session);
        CompletionStage<Void> unused = session.close();
        return new NotOpened(outcome);
    }

    private CompletionStage<Result> initialize(
            ServerSession session, Envelope initialize, Object context, MessageSink sink) {
        CompletableFuture<Envelope.Kind> answer = new CompletableFuture<>();
        return session.call(initialize, ServerSession.Repeat.HARMLESS, context, message -> {
                    if (message.id().equals(initialize.id())) {
                        answer.complete(message.kind());
                    }
                    return sink.message(message);
                })
                .thenApply(outcome ->
                        outcome instanceof Outcome.Done && answer.getNow(Envelope.Kind.ERROR) == Envelope.Kind.RESPONSE
                                ? new Opened(session)
                                : notOpened(session, outcome));
    }
}
