package dev.holdfast.upstream;

import dev.holdfast.client.MessageSink;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RepeatRules;
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
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;

/**
 * A session's way to its session at the upstream. Messages pass as the bytes they are; only the ids of the upstream's own requests are
 * replaced, and restored in the client's answers, and those ids and progress tokens of the client's that the upstream would not tell from
 * others ({@link ServerIds}).
 *
 * <p>What comes on the stream of a request goes to the stream of that call. Outside of those streams, which over HTTP+SSE is all but responses,
 * progress goes to the call of its token. The rest goes to the listening stream, if its client listens or may be on its way back; else what
 * names neither a list nor a resource goes to the newest running call.
 */
final class UpstreamConnection implements BackendConnection, MessageSink, OpenQuestions.Server {
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
    private final UpstreamLoss loss;

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
        this.loss = new UpstreamLoss(calls, listening, link, clock, call -> ended(call, LOST));
        link.onStuck(loss::stuck);
    }

    UpstreamLink link() {
        return link;
    }

    UpstreamLoss loss() {
        return loss;
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
        if (loss.begun()) {
            sink.onCancel(notification -> calls.cancelled(call));
            calls.endUntouched(call);
            loss.settled();
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
        loss.settled();
    }

    /** Nothing more comes for a request; what has no response gets a definite end. */
    private void ended(Call call, Outcome outcome) {
        boolean lost = outcome instanceof Outcome.Unknown unknown && unknown.sessionGone();
        if (outcome instanceof Outcome.SessionGone || (lost && call.harmless())) {
            calls.endUntouched(call);
            loss.gone();
            loss.settled();
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
}
