package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.LogThrottle;
import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.Throttle;
import dev.holdfast.client.UnreadableMessageException;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.json.backend.OpenQuestions;
import dev.holdfast.json.backend.ServerIds;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.upstream.UpstreamCalls.Call;
import java.io.EOFException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session's way to its session at the upstream. Messages pass as the bytes they are; only the ids of the upstream's own requests are
 * replaced, and restored in the client's answers, and those ids and progress tokens of the client's that the upstream would not tell from
 * others ({@link ServerIds}).
 *
 * <p>What comes on the stream of a request goes to the stream of that call. Outside of those streams, which over HTTP+SSE is all but responses,
 * progress goes to the call of its token. The rest goes to the listening stream, if its client listens or may be on its way back; else what
 * names neither a list nor a resource goes to the newest running call.
 *
 * <p>When the upstream has lost the session, the engine opens another one from its journal: as soon as it is known of each running call whether
 * the upstream has done anything of it, or a moment later. The client is told that lists may have changed that it was promised to hear of.
 */
final class UpstreamConnection implements BackendConnection, MessageSink, SessionWatch, OpenQuestions.Server {
    private static final Logger log = LoggerFactory.getLogger(UpstreamConnection.class);
    private static final String GONE = "the upstream has lost the session";
    private static final String STUCK = "the upstream takes no messages";
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    /** How long an upstream is left alone that was away for longer than the client's patience. */
    private static final Duration BEFORE_LISTENING = Duration.ofSeconds(10);
    /** Gaps that come faster than this are told together: each telling makes a client ask for all lists again. */
    private static final Duration LEAST_BETWEEN_GAPS = Duration.ofSeconds(10);
    /** How many messages that cannot be read are told in ten seconds. */
    private static final int MOST_LINES = 3;

    private static final Outcome LOST =
            new Outcome.Unknown("its session was lost", new EOFException("the upstream has lost the session"), true);

    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final String principal;
    private final RepeatRules rules;
    private final UpstreamLink link;
    private final UpstreamCalls calls = new UpstreamCalls();
    private final ListeningSink listening;
    private final OpenQuestions questions;
    private final UpstreamSettings settings;
    private final ScheduledExecutorService clock;
    /** Whether the session at the upstream is lost. */
    private final AtomicBoolean lost = new AtomicBoolean();

    private final Throttle gaps;
    private final LogThrottle unreadable = new LogThrottle(MOST_LINES, System::nanoTime);
    /** Whether what comes now comes too late for the first report of the loss. */
    private volatile boolean reported;

    private volatile byte promisedLists;
    private volatile Consumer<String> distrusted = cause -> {};

    /**
     * A connection whose session at the upstream is not open yet.
     *
     * @param incarnation makes the ids of the upstream's requests different from those of any other session there
     */
    UpstreamConnection(
            String principal,
            String incarnation,
            RepeatRules rules,
            ListeningSink listening,
            UpstreamLink link,
            ScheduledExecutorService clock) {
        this.principal = principal;
        this.rules = rules;
        this.link = link;
        this.listening = listening;
        this.questions = new OpenQuestions(incarnation, listening, this);
        this.settings = new UpstreamSettings(link, this);
        this.clock = clock;
        this.gaps = new Throttle(
                LEAST_BETWEEN_GAPS,
                (millis, task) -> clock.schedule(task, millis, TimeUnit.MILLISECONDS),
                this::tellGaps);
        link.onStuck(this::stuck);
    }

    UpstreamLink link() {
        return link;
    }

    @Override
    public void call(InboundMessage request, CallSink sink) {
        Object context = link.context(request);
        settings.before(request, context);
        send(request, sink, context, outcome -> UpstreamErrors.of(outcome, request));
    }

    @Override
    public void replay(InboundMessage request, CallSink sink) {
        Object context = link.context(request);
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
        Envelope message = UpstreamLink.ENVELOPES.message(request);
        boolean setting = !(request.journal() instanceof JournalChange.None);
        int size = request.bytes().length;
        Optional<RequestRoom.Share> room = setting
                ? Optional.of(link.room().takeAnyway(size))
                : link.room().take(size);
        if (room.isEmpty()) {
            conclude(sink, unanswered.apply(new Outcome.NotSent(link.room().refusal())));
            return;
        }
        boolean harmless = setting || rules.harmless(principal, request);
        Call call = calls.start(
                message,
                names -> new Call(
                        request,
                        room.get(),
                        names,
                        message.progressToken(),
                        message.asksForTask(),
                        sink,
                        harmless,
                        unanswered));
        if (lost.get()) {
            sink.onCancel(notification -> calls.cancelled(call));
            calls.endUntouched(call);
            settled();
            return;
        }
        Envelope named = call.names().of(message);
        link.call(named, harmless ? Repeat.HARMLESS : Repeat.NEVER, context, part -> take(call, part))
                .thenAccept(outcome -> ended(call, outcome));
        sink.onCancel(notification -> {
            calls.cancelled(call);
            link.post(
                    notification
                            .map(told -> cancelling(call, UpstreamLink.ENVELOPES.message(told)))
                            .orElseGet(() -> UpstreamLink.ENVELOPES.message(JsonRpc.MESSAGES
                                    .cancelled(call.id(), "cancelled")
                                    .bytes())),
                    context);
        });
    }

    /** The client's word, with the id that the upstream knows. */
    private static Envelope cancelling(Call call, Envelope notification) {
        return notification.cancelledRequest().isPresent()
                ? notification.withCancelledRequest(call.id())
                : notification;
    }

    /** What comes behind the response belongs to no call any more. */
    private CompletionStage<Void> take(Call call, Envelope message) {
        if (!calls.running(call)) {
            return message(message);
        }
        return switch (message.kind()) {
            case REQUEST -> questions.ask(message, Optional.of(call.sink()));
            case NOTIFICATION -> notified(call, message);
            case RESPONSE, ERROR -> answered(call, message);
        };
    }

    /** A server that replays more than the stream which is resumed sends the progress of other calls on it too. */
    private CompletionStage<Void> notified(Call call, Envelope message) {
        String method = message.method();
        boolean progress = method.equals("notifications/progress");
        boolean foreign = progress && !call.hasOwn(message) && calls.knows(message.progressToken());
        return foreign || method.equals("notifications/cancelled")
                ? message(message)
                : call.sink().send(message.outbound());
    }

    private CompletionStage<Void> answered(Call call, Envelope message) {
        if (!message.id().equals(Optional.of(call.id())) || !calls.beginsToEnd(call)) {
            return DONE;
        }
        if (message.kind() == Envelope.Kind.RESPONSE && call.request().method().equals(RepeatRules.TOOLS_LIST)) {
            rules.learn(principal, message.bytes());
        }
        call.room().give(); // before its client can send the next one
        Envelope clients = message.withId(call.request().requiredId());
        CompletionStage<Void> committed = call.sink().send(clients.outbound());
        over(call);
        return committed;
    }

    private void over(Call call) {
        calls.end(call);
        questions.ended(call.sink());
        settled();
    }

    /** Nothing more comes for a request; what has no response gets a definite end. */
    private void ended(Call call, Outcome outcome) {
        boolean gone = outcome instanceof Outcome.Unknown unknown && unknown.sessionGone();
        if (outcome instanceof Outcome.SessionGone || (gone && call.harmless())) {
            calls.endUntouched(call);
            gone();
            settled();
            return;
        }
        call.room().give();
        if (!calls.beginsToEnd(call)) {
            return; // it was answered, or given back
        }
        conclude(call.sink(), call.unanswered().apply(outcome));
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
        link.post(error.bytes());
    }

    @Override
    public boolean runs(CallSink call) {
        return calls.all().stream().anyMatch(each -> each.sink() == call);
    }

    /** Whoever reads the upstream waits for what it passes on. */
    @Override
    public void sent(int bytes, CompletionStage<Void> commit) {}

    private static void conclude(CallSink sink, Optional<OutboundMessage> last) {
        last.ifPresent(message -> {
            CompletionStage<Void> unused = sink.send(message);
        });
    }

    @Override
    public void notify(InboundMessage notification) {
        link.post(UpstreamLink.ENVELOPES.message(notification), link.context(notification));
    }

    @Override
    public void answer(InboundMessage response) {
        Object context = link.context(response);
        questions
                .answered(response.requiredId())
                .ifPresent(spelling ->
                        link.post(UpstreamLink.ENVELOPES.message(response).withId(spelling), context));
    }

    @Override
    public CompletionStage<Void> close() {
        return link.close();
    }

    /** The lists whose changes the upstream has promised to tell, as its answer to {@code initialize} names them. */
    void promised(byte lists) {
        promisedLists = lists;
    }

    /** Sets who hears that the upstream is not trusted. */
    void onDistrust(Consumer<String> hook) {
        distrusted = hook;
    }

    @Override
    public void reconnecting(Throwable cause) {
        UpstreamErrors.distrust(cause).ifPresent(text -> {
            log.warn(
                    "{}: {}",
                    text,
                    LogText.of(String.valueOf(cause.getMessage()).getBytes(UTF_8)));
            distrusted.accept(text);
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
        if (promisedLists != 0) {
            gaps.ask();
        }
    }

    private void tellGaps() {
        if (!lost.get()) {
            tellChanges();
        }
    }

    /** A client that only listens sends nothing that would reach the upstream. */
    @Override
    public void listeningGivenUp() {
        Future<?> unused = clock.schedule(link::listen, BEFORE_LISTENING.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void gone() {
        if (lost.compareAndSet(false, true)) {
            tellChanges();
            Future<?> unused = clock.schedule(this::wentOnTooLong, PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            settled();
        }
    }

    /** The server may want clients to come back later than that. */
    private void wentOnTooLong() {
        calls.all().forEach(call -> ended(call, LOST));
        report(GONE);
    }

    /** A call has ended, or does not begin. */
    private void settled() {
        if (lost.get() && (reported || calls.isEmpty())) {
            report(GONE);
        }
    }

    /** Too much is on its way to the upstream: it gets another session, and what waits is given up. */
    private void stuck() {
        if (lost.compareAndSet(false, true)) {
            tellChanges();
        }
        report(STUCK);
    }

    /** The first report counts, and later ones for calls that come meanwhile. */
    private void report(String cause) {
        reported = true;
        listening.lost(cause, calls.untouched());
    }

    private void tellChanges() {
        JsonRpc.MESSAGES.listsChanged(promisedLists).forEach(change -> {
            CompletionStage<Void> unused = listening.send(change);
        });
    }

    private String shortId() {
        String id = listening.sessionId();
        return id.length() <= 8 ? id : id.substring(0, 8);
    }
}
