package dev.holdfast.client;

import dev.holdfast.client.wire.HttpExchange;
import dev.holdfast.json.Envelope;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A session over Streamable HTTP: a POST for each message, and a GET on which the server sends what belongs to no request.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http">MCP, Streamable HTTP</a>
 */
final class StreamableSession extends ServerSession {
    private static final int ACCEPTED = 202;
    private static final int NOT_IMPLEMENTED = 501;

    /** Statuses by which servers say that they have no such stream; the session was found to be there. */
    private static final Set<Integer> NO_STREAM = Set.of(400, 404, 405);
    /** Statuses by which a server wants other credentials, which may be there later. */
    private static final Set<Integer> CREDENTIALS = Set.of(401, 403);

    private static final String INITIALIZED = "notifications/initialized";

    /** How long a server may take to say whether it opens another session. */
    private static final long EXPERIMENT_MILLIS = 30_000;
    /** How long a server may take to hear that the session is not needed any more. */
    private static final long CLOSE_MILLIS = 5_000;

    private final AtomicReference<Listening> state = new AtomicReference<>(Listening.CLOSED);
    /** The {@code initialize} that it was opened with. */
    private volatile Optional<Envelope> opening = Optional.empty();

    private volatile boolean initialized;
    private volatile Optional<Successor> successor = Optional.empty();

    /** The stream for what belongs to no request. */
    private sealed interface Listening {
        Listening CLOSED = new NotOpen();

        record NotOpen() implements Listening {}

        /**
         * The server has none.
         *
         * @param early whether it was asked before {@code notifications/initialized}: some servers give it only then
         */
        record NotOffered(boolean early) implements Listening {}

        record Open(EventStream stream, Object context, boolean early) implements Listening {}

        /** It was tried for long enough; the next message that arrives opens it again. */
        record GivenUp(Object context) implements Listening {}
    }

    /**
     * A session that was not opened yet.
     *
     * @param listening takes what comes on the listening stream
     */
    StreamableSession(RemoteServer server, MessageSink listening, SessionWatch watch) {
        super(server, listening, watch);
    }

    @Override
    public Optional<String> id() {
        return sessionId();
    }

    @Override
    public CompletionStage<Outcome> call(
            Envelope request, Repeat repeat, Object context, ToldProgress told, MessageSink sink) {
        MessageSink taker = sink;
        if (request.method().equals("initialize")) {
            opening = Optional.of(request);
            taker = negotiating(context, sink);
        }
        return call(server.uri(), request, repeat, context, told, taker);
    }

    /** Listens before the application goes on: some servers cannot ask their client anything until it does. */
    private MessageSink negotiating(Object context, MessageSink sink) {
        return message -> {
            message.protocolVersion().ifPresent(this::negotiated);
            if (message.kind() == Envelope.Kind.RESPONSE) {
                listen(context);
            }
            return sink.message(message);
        };
    }

    @Override
    public CompletionStage<Outcome> post(Envelope message, Object context) {
        CompletionStage<Outcome> sent = post(server.uri(), message, context);
        return message.method().equals(INITIALIZED)
                ? sent.thenApply(outcome -> {
                    if (outcome instanceof Outcome.Done) {
                        initialized = true;
                        listenAgain(context);
                    }
                    return outcome;
                })
                : sent;
    }

    @Override
    CompletionStage<SessionProbe.Finding> another(Object context, SessionProbe.Finding pinged) {
        Optional<Envelope> said = opening;
        if (said.isEmpty() || !mayBeLost()) {
            return CompletableFuture.completedFuture(pinged);
        }
        RemoteServer once = server.withLimits(server.limits().withRetryTimeout(Duration.ZERO));
        StreamableSession other = new StreamableSession(once, NOBODY, SessionWatch.NONE);
        Future<?> late = server.later(EXPERIMENT_MILLIS, other::close);
        AtomicReference<@Nullable Envelope> answer = new AtomicReference<>();
        MessageSink sink = message -> {
            answer.set(message);
            return NOBODY.message(message);
        };
        return other.call(server.uri(), said.get(), Repeat.NEVER, context, new ToldProgress(), sink)
                .thenApply(outcome -> {
                    late.cancel(false);
                    Envelope came = answer.get();
                    if (outcome instanceof Outcome.Done && came != null && came.kind() == Envelope.Kind.RESPONSE) {
                        successor = Optional.of(new Successor(other, came));
                        return SessionProbe.Finding.GONE;
                    }
                    // the server may have named it all the same
                    CompletionStage<Void> unused = other.close();
                    boolean answered = outcome instanceof Outcome.Done || outcome instanceof Outcome.Refused;
                    return answered ? SessionProbe.Finding.REFUSED : pinged;
                });
    }

    @Override
    public Optional<Successor> successor() {
        return successor;
    }

    /** Goes on in a session that the server has opened already; the sink gets the answer to its {@code initialize}. */
    CompletionStage<Void> goOn(Successor opened, Envelope initialize, Object context, MessageSink sink) {
        opening = Optional.of(initialize);
        opened.id.ifPresent(this::named);
        return negotiating(context, sink)
                .message(opened.answer.withId(initialize.id().orElseThrow()));
    }

    @Override
    boolean answersLater(int status) {
        return status == ACCEPTED && state.get() instanceof Listening.Open;
    }

    @Override
    boolean answersOnOneStream() {
        return false;
    }

    @Override
    void reached() {
        if (state.get() instanceof Listening.GivenUp given) {
            listen(given.context());
        }
    }

    @Override
    public void listen(Object context) {
        Listening before = state.get();
        if (before instanceof Listening.Open || before instanceof Listening.NotOffered || complete()) {
            return;
        }
        EventStream stream = new EventStream(this, server.uri(), context, this);
        if (state.compareAndSet(before, new Listening.Open(stream, context, !initialized))) {
            if (before instanceof Listening.GivenUp) {
                stream.comesLate();
            }
            if (complete()) {
                stream.stop();
            } else {
                stream.open();
            }
        }
    }

    /** What the server refused too early is asked for once more. */
    private void listenAgain(Object context) {
        if (state.get() instanceof Listening.NotOffered refused && refused.early()) {
            state.compareAndSet(refused, Listening.CLOSED);
        }
        listen(context);
    }

    @Override
    void stopListening() {
        if (state.get() instanceof Listening.Open open) {
            open.stream().stop();
        }
    }

    @Override
    boolean leaves(Envelope message) {
        return leavesToOwner(message);
    }

    @Override
    boolean opensAnew() {
        return true;
    }

    @Override
    void gap() {
        watch.gap();
    }

    @Override
    void lost(Loss loss) {
        if (loss instanceof Loss.SessionGone) {
            gone();
            return;
        }
        if (!(state.get() instanceof Listening.Open open)) {
            return;
        }
        if (loss instanceof Loss.Refused refused
                && refusedForGood(refused.answer().status())) {
            closed(new Listening.NotOffered(open.early()));
            if (open.early()) {
                if (initialized) {
                    listenAgain(open.context());
                }
            } else if (!NO_STREAM.contains(refused.answer().status())) {
                watch.failed(refused.cause());
            }
        } else {
            closed(new Listening.GivenUp(open.context()));
            if (loss instanceof Loss.GivenUp) {
                watch.listeningGivenUp();
            }
            watch.failed(loss.cause());
        }
    }

    private static boolean refusedForGood(int status) {
        return status == NOT_IMPLEMENTED || (status / 100 != 5 && !CREDENTIALS.contains(status));
    }

    private void closed(Listening next) {
        state.set(next);
        lostElsewhere();
    }

    /** Tells the server by DELETE: once, and without waiting long. */
    @Override
    public CompletionStage<Void> close() {
        end();
        CompletableFuture<Void> told = new CompletableFuture<>();
        if (sessionId().isEmpty() || loss().isPresent()) {
            told.complete(null);
            return told;
        }
        Future<?> late = later(CLOSE_MILLIS, () -> told.complete(null));
        deleteRequest(server.uri(), NO_CONTEXT).whenComplete((request, failure) -> {
            if (failure != null) {
                told.complete(null);
            } else if (!told.isDone()) {
                HttpExchange exchange = answering(request, event -> CompletableFuture.completedFuture(null));
                exchange.start().thenAccept(end -> told.complete(null));
                told.thenRun(() -> exchange.abort("the server takes too long to end the session"));
            }
        });
        return told.whenComplete((end, failure) -> late.cancel(false));
    }
}
