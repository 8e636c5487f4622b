package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.LogThrottle;
import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.Requests;
import dev.holdfast.client.SendQueue;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.client.ServerSession.Successor;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.Throttle;
import dev.holdfast.client.UnreadableMessageException;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.json.backend.OpenQuestions;
import dev.holdfast.json.backend.ServerIds;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.upstream.UpstreamCalls.Call;
import java.io.EOFException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session's way to its session at the upstream, which may still be opening. Messages pass as the bytes they are, and begin in the order
 * in which they came; only the ids of the upstream's own requests are replaced, and restored in the client's answers, and those ids and
 * progress tokens of the client's that the upstream would not tell from others ({@link ServerIds}). Each takes the forwarded headers of its
 * own request along; what has none takes those of the latest that had: the replay of the journal, GET and DELETE.
 *
 * <p>What comes on the stream of a request goes to the stream of that call. Outside of those streams, which over HTTP+SSE is all but
 * responses, progress goes to the call of its token. The rest goes to the listening stream, if its client listens or may be on its way
 * back; else what names neither a list nor a resource goes to the newest running call.
 *
 * <p>When the upstream has lost the session, the engine opens another one from its journal: as soon as it is known of each running call
 * whether the upstream has done anything of it, or a moment later. The client is told that lists may have changed that it was promised to
 * hear of.
 */
final class UpstreamConnection
        implements BackendConnection, MessageSink, SessionWatch, Requests.Customizer, OpenQuestions.Server {
    private static final Logger log = LoggerFactory.getLogger(UpstreamConnection.class);
    /** Of an upstream that takes no messages each session tells, and each of its messages. */
    private static final LogThrottle LOST = new LogThrottle(10, System::nanoTime);

    private static final String GONE = "the upstream has lost the session";
    private static final String MOVED = "the upstream has moved";
    /** For how long an upstream is tried where it was. */
    private static final Duration MOVED_PATIENCE = Duration.ofSeconds(5);
    /** How long running calls may take to find out what the upstream that has lost their session has done of them. */
    private static final long UNSETTLED_MILLIS = 2_000;
    /** How long an upstream is left alone that was away for longer than messages are tried to be sent. */
    private static final Duration BEFORE_LISTENING = Duration.ofSeconds(10);
    /** Gaps that come faster than this are told together: each telling makes a client ask for all lists again. */
    private static final Duration LEAST_BETWEEN_GAPS = Duration.ofSeconds(10);
    /** How many messages that cannot be read are told in ten seconds. */
    private static final int MOST_LINES = 3;
    /** How many bytes of messages without a response may be on their way; one message may exceed it. */
    private static final long MOST_BYTES = 8 << 20;
    /** What a message costs that has no bytes: its request, and a connection. */
    private static final int MESSAGE_BYTES = 16 << 10;

    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final String principal;
    private final RepeatRules rules;
    private final RequestRoom.OfSession room;
    private final BooleanSupplier moved;
    private final Consumer<Successor> successors;
    private final ListeningSink listening;
    private final OpenQuestions questions;
    private final UpstreamSettings settings = new UpstreamSettings(this);
    private final ScheduledExecutorService clock;
    private final CompletableFuture<ServerSession> session = new CompletableFuture<>();
    private final SendQueue<ServerSession> queue;
    private final UpstreamCalls calls = new UpstreamCalls();
    /** How many bytes of such messages are on their way. */
    private final AtomicLong posted = new AtomicLong();
    /** Whether the session at the upstream is lost. */
    private final AtomicBoolean lost = new AtomicBoolean();
    /** Completes if the upstream is none that the JVM trusts, with a sentence. */
    private final CompletableFuture<String> distrusted = new CompletableFuture<>();

    private final Throttle gaps;
    private final LogThrottle unreadable = new LogThrottle(MOST_LINES, System::nanoTime);
    private volatile Object latestContext = ServerSession.NO_CONTEXT;
    /** Whether what comes now comes too late for the first report of the loss. */
    private volatile boolean reported;

    private volatile byte promisedLists;

    /**
     * A connection whose session at the upstream is not open yet.
     *
     * @param request the client's session, for which the one at the upstream is to be opened
     * @param room what the messages of this session take
     * @param moved whether other sessions are opened elsewhere by now
     * @param successors takes the session that the upstream has opened when it was found to have lost this one
     */
    UpstreamConnection(
            Backend.OpenRequest request,
            RepeatRules rules,
            ListeningSink listening,
            RequestRoom.OfSession room,
            BooleanSupplier moved,
            Consumer<Successor> successors,
            ScheduledExecutorService clock) {
        this.principal = request.principal();
        this.rules = rules;
        this.room = room;
        this.moved = moved;
        this.successors = successors;
        this.listening = listening;
        this.questions = new OpenQuestions(request.incarnation(), listening, this);
        this.clock = clock;
        this.queue = new SendQueue<>(this::later, () -> session);
        this.gaps = new Throttle(LEAST_BETWEEN_GAPS, this::later, this::tellGaps);
    }

    private Future<?> later(long millis, Runnable task) {
        return clock.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    /** What its messages take; a request takes that before it is sent. */
    RequestRoom.OfSession room() {
        return room;
    }

    /** The session is open, and its upstream has promised to tell of changes in these lists. */
    void opened(ServerSession open, byte lists) {
        promisedLists = lists;
        session.complete(open);
    }

    boolean isOpen() {
        return session.isDone();
    }

    /** Completes if the upstream is none that the JVM trusts, with a sentence that says so. */
    CompletionStage<String> distrusted() {
        return distrusted;
    }

    @Override
    public CompletionStage<HttpRequest.Builder> customize(
            HttpRequest.Builder request, String method, URI uri, Optional<byte[]> body, Object context) {
        Object given = method.equals("POST") ? context : latestContext;
        return CompletableFuture.completedFuture(
                given instanceof ForwardedHeaders.Values headers ? headers.addTo(request) : request);
    }

    /** What goes along with a message. */
    Object context(InboundMessage message) {
        if (message.context() instanceof ForwardedHeaders.Values given) {
            latestContext = given;
        }
        return latestContext;
    }

    @Override
    public void call(InboundMessage request, CallSink sink) {
        Object context = context(request);
        settings.before(request, context);
        send(request, sink, context, outcome -> UpstreamErrors.of(outcome, request));
    }

    @Override
    public void replay(InboundMessage request, CallSink sink) {
        Object context = context(request);
        // what sets nothing is a question that was not the client's
        boolean sets = !(request.journal() instanceof JournalChange.None);
        send(
                request,
                sink,
                context,
                outcome -> sets ? settings.unanswered(request, context, outcome) : UpstreamErrors.of(outcome, request));
    }

    /**
     * Sends a request.
     *
     * @param unanswered what its sink gets in the place of a response that will not come
     */
    private void send(
            InboundMessage request,
            CallSink sink,
            Object context,
            Function<Outcome, Optional<OutboundMessage>> unanswered) {
        Envelope message = UpstreamBackend.ENVELOPES.message(request);
        boolean setting = !(request.journal() instanceof JournalChange.None);
        int size = request.bytes().length;
        Optional<RequestRoom.Share> share = setting ? Optional.of(room.takeAnyway(size)) : room.take(size);
        if (share.isEmpty()) {
            conclude(sink, unanswered.apply(new Outcome.NotSent(room.refusal(shortId()))));
            return;
        }
        boolean harmless = setting || rules.harmless(principal, request);
        Call call = calls.start(request, message, sink, share.get(), harmless, unanswered);
        if (lost.get()) {
            sink.onCancel(notification -> calls.cancelled(call));
            calls.endUntouched(call);
            settled();
            return;
        }
        send(call.names.of(message), harmless ? Repeat.HARMLESS : Repeat.NEVER, context, part -> take(call, part))
                .thenAccept(outcome -> ended(call, outcome));
        sink.onCancel(notification -> {
            calls.cancelled(call);
            post(
                    notification
                            .map(told -> cancelling(call, UpstreamBackend.ENVELOPES.message(told)))
                            .orElseGet(() -> UpstreamBackend.ENVELOPES.message(JsonRpc.MESSAGES
                                    .cancelled(call.names.id(), "cancelled")
                                    .bytes())),
                    context);
        });
    }

    /** Sends a request, whose messages go to the sink. */
    CompletionStage<Outcome> send(Envelope request, Repeat repeat, Object context, MessageSink sink) {
        return queue.send(request, open -> open.call(request, repeat, context, sink))
                .thenApply(outcome -> where(request, outcome));
    }

    /** What became of a message; an upstream that has moved, and does not serve it where it was, has lost the session there. */
    private Outcome where(Envelope message, Outcome outcome) {
        if (!moved.getAsBoolean() || !UpstreamErrors.isOfUpstream(outcome, message)) {
            return outcome;
        }
        leave();
        if (outcome instanceof Outcome.Unknown unknown) {
            return new Outcome.Unknown(unknown.reason(), unknown.cause(), true);
        }
        return outcome instanceof Outcome.Refused refused && !refused.notExecuted(message)
                ? outcome
                : new Outcome.SessionGone();
    }

    /** The session counts as lost from now on. */
    private void leave() {
        session.thenAccept(open -> open.lose(new EOFException(MOVED)));
    }

    /** Sends a message that has no response, unless too much is on its way already. */
    private void post(Envelope message, Object context) {
        if (posted.get() > MOST_BYTES) {
            stuck();
            return;
        }
        int size = message.bytes().length;
        RequestRoom.Share share = room.takeAnyway(size);
        int weight = size + MESSAGE_BYTES;
        posted.addAndGet(weight);
        CompletionStage<Outcome> unused = queue.send(message, open -> open.post(message, context))
                .thenApply(outcome -> where(message, outcome))
                .whenComplete((outcome, failure) -> {
                    posted.addAndGet(-weight);
                    share.give();
                    Optional<String> why =
                            failure == null ? UpstreamErrors.ofPost(outcome) : Optional.of(failure.toString());
                    why.ifPresent(text -> LOST.write(more -> log.warn(
                            "session {}: a message of the client did not reach the upstream: {}{}",
                            shortId(),
                            text,
                            more)));
                });
    }

    /** The client's word, with the id that the upstream knows. */
    private static Envelope cancelling(Call call, Envelope notification) {
        return notification.cancelledRequest().isPresent()
                ? notification.withCancelledRequest(call.names.id())
                : notification;
    }

    /** What comes after the response belongs to no call any more. */
    private CompletionStage<Void> take(Call call, Envelope message) {
        if (!calls.running(call)) {
            return message(message);
        }
        return switch (message.kind()) {
            case REQUEST -> questions.ask(message, Optional.of(call.sink));
            case NOTIFICATION -> notified(call, message);
            case RESPONSE, ERROR -> answered(call, message);
        };
    }

    /** A server that replays more than the stream which is resumed sends the progress of other calls on it too. */
    private CompletionStage<Void> notified(Call call, Envelope message) {
        String method = message.method();
        boolean progress = method.equals("notifications/progress");
        boolean foreign = progress
                && !call.hasOwn(message)
                && message.progressToken().filter(calls::knows).isPresent();
        return foreign || method.equals("notifications/cancelled")
                ? message(message)
                : call.sink.send(message.outbound());
    }

    private CompletionStage<Void> answered(Call call, Envelope message) {
        if (!message.id().equals(Optional.of(call.names.id())) || !calls.beginsToEnd(call)) {
            return DONE;
        }
        if (message.kind() == Envelope.Kind.RESPONSE && call.request.method().equals(RepeatRules.TOOLS_LIST)) {
            rules.learn(principal, message.bytes());
        }
        call.room.give(); // before its client can send the next one
        Envelope clients = message.withId(call.request.requiredId());
        CompletionStage<Void> committed = call.sink.send(clients.outbound());
        over(call);
        return committed;
    }

    private void over(Call call) {
        calls.end(call);
        questions.ended(call.sink);
        settled();
    }

    /** Nothing more comes for a request; what has no response gets a definite end. */
    private void ended(Call call, Outcome outcome) {
        boolean gone = outcome instanceof Outcome.Unknown unknown && unknown.sessionGone();
        if (outcome instanceof Outcome.SessionGone || (gone && call.harmless)) {
            calls.endUntouched(call);
            sessionLost();
            settled();
            return;
        }
        call.room.give();
        if (!calls.beginsToEnd(call)) {
            return; // it was answered, or given back
        }
        conclude(call.sink, call.unanswered.apply(outcome));
        over(call);
    }

    /** Takes what belongs to no request. */
    @Override
    public CompletionStage<Void> message(Envelope message) {
        return switch (message.kind()) {
            case REQUEST -> questions.ask(message, listening.attached() ? Optional.empty() : calls.newest());
            case NOTIFICATION -> notification(message);
            case RESPONSE, ERROR -> DONE;
        };
    }

    private CompletionStage<Void> notification(Envelope message) {
        String method = message.method();
        if (method.equals("notifications/cancelled")) {
            return questions.withdraw(message).orElse(DONE);
        }
        if (method.equals("notifications/progress")) {
            return progress(message);
        }
        boolean lasting = method.endsWith("/list_changed") || method.equals("notifications/resources/updated");
        return send(message, lasting ? Optional.empty() : unattributed());
    }

    private CompletionStage<Void> progress(Envelope message) {
        Optional<UpstreamCalls.Told> told = message.progressToken().flatMap(calls::ofToken);
        if (told.isEmpty()) {
            // under another token the only call that it can be of is one that runs
            Optional<CallSink> call =
                    message.progressToken().filter(calls::ended).isPresent() ? Optional.empty() : calls.newest();
            if (call.isPresent()) {
                return call.get().send(message.outbound());
            }
            listening.unsolicited();
            return DONE;
        }
        Envelope clients = message.withProgressToken(told.get().token());
        return send(clients, told.get().call().or(this::unattributed));
    }

    private Optional<CallSink> unattributed() {
        return listening.followed() ? Optional.empty() : calls.newest();
    }

    private CompletionStage<Void> send(Envelope message, Optional<CallSink> call) {
        return call.isPresent() ? call.get().send(message.outbound()) : listening.send(message.outbound());
    }

    @Override
    public void refuse(OutboundMessage error) {
        post(UpstreamBackend.ENVELOPES.message(error.bytes()), latestContext);
    }

    @Override
    public boolean runs(CallSink call) {
        return calls.runs(call);
    }

    /** Needs no bound here: each reader of the upstream waits until its message is committed. */
    @Override
    public void sent(int bytes, CompletionStage<Void> commit) {}

    private static void conclude(CallSink sink, Optional<OutboundMessage> last) {
        last.ifPresent(message -> {
            CompletionStage<Void> unused = sink.send(message);
        });
    }

    @Override
    public void notify(InboundMessage notification) {
        post(UpstreamBackend.ENVELOPES.message(notification), context(notification));
    }

    @Override
    public void answer(InboundMessage response) {
        Object context = context(response);
        questions
                .answered(response.requiredId())
                .ifPresent(spelling ->
                        post(UpstreamBackend.ENVELOPES.message(response).withId(spelling), context));
    }

    @Override
    public CompletionStage<Void> close() {
        room.close();
        return session.thenCompose(ServerSession::close);
    }

    @Override
    public void reconnecting(Throwable cause) {
        UpstreamErrors.distrust(cause).ifPresent(text -> {
            log.warn(
                    "session {}: {}: {}",
                    shortId(),
                    text,
                    LogText.of(String.valueOf(cause.getMessage()).getBytes(UTF_8)));
            distrusted.complete(text);
        });
        log.debug("session {}: the upstream cannot be reached: {}", shortId(), cause.toString());
    }

    @Override
    public void resumed(Duration away) {
        log.debug("session {}: the upstream is back after {} ms", shortId(), away.toMillis());
    }

    @Override
    public void failed(Throwable failure) {
        if (failure instanceof UnreadableMessageException) {
            unreadable.write(more ->
                    log.warn("session {}: the upstream: {}{}", shortId(), String.valueOf(failure.getMessage()), more));
        } else {
            log.debug("session {}: the upstream: {}", shortId(), failure.toString());
        }
    }

    @Override
    public void gap() {
        gaps.ask();
    }

    private void tellGaps() {
        if (!lost.get()) {
            tellChanges();
            session.thenAccept(open -> open.subscribed().forEach(uri -> {
                CompletionStage<Void> unused =
                        listening.send(new OutboundMessage(EventKind.NOTIFICATION, null, JsonRpc.resourceUpdated(uri)));
            }));
        }
    }

    /** A client that only listens sends nothing that would reach the upstream. */
    @Override
    public void listeningGivenUp() {
        if (moved.getAsBoolean() && calls.isEmpty()) {
            leave();
            return;
        }
        Future<?> unused =
                later(BEFORE_LISTENING.toMillis(), () -> session.thenAccept(open -> open.listen(latestContext)));
    }

    @Override
    public Duration patience(Duration usual) {
        return moved.getAsBoolean() && usual.compareTo(MOVED_PATIENCE) > 0 ? MOVED_PATIENCE : usual;
    }

    /** Of the sessions that were tried only the one that is open is this connection's, be it open by now or soon. */
    @Override
    public void gone(Object gone) {
        session.thenAccept(open -> {
            if (open == gone) {
                sessionLost();
            }
        });
    }

    /** A task of the upstream's outlives this process, and so does the call that it is made of. */
    @Override
    public void goesOnAs(RequestId request, Envelope other) {
        calls.find(request)
                .ifPresent(call -> call.sink.continueBy(call.asClients(other).inbound(InboundMessage.NO_CONTEXT)));
    }

    private void sessionLost() {
        if (lost.compareAndSet(false, true)) {
            tellChanges();
            Future<?> unused = later(UNSETTLED_MILLIS, this::endUnsettled);
            settled();
        }
    }

    /** The server may want clients to come back later than that. */
    private void endUnsettled() {
        Outcome unknown = new Outcome.Unknown("its session was lost", new EOFException(GONE), true);
        calls.all().forEach(call -> ended(call, unknown));
        report();
    }

    /** A call has ended, or does not begin. */
    private void settled() {
        if (lost.get() && (reported || calls.isEmpty())) {
            report();
        }
    }

    private void report() {
        report(moved.getAsBoolean() ? MOVED : GONE);
    }

    /** Too much is on its way to the upstream: it gets another session, and what waits is given up. */
    private void stuck() {
        if (lost.compareAndSet(false, true)) {
            tellChanges();
        }
        report("the upstream takes no messages");
    }

    /** The first report counts, and later ones for calls that come meanwhile. Whoever opens the next session finds the successor. */
    private void report(String cause) {
        session.thenAccept(open -> open.successor().ifPresent(successors));
        reported = true;
        listening.lost(cause, calls.untouched());
    }

    private void tellChanges() {
        JsonRpc.MESSAGES.listsChanged(promisedLists).forEach(change -> {
            CompletionStage<Void> unused = listening.send(change);
        });
    }

    String shortId() {
        return LogText.shortId(listening.sessionId());
    }
}
