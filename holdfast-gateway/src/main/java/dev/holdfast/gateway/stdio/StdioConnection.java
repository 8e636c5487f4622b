package dev.holdfast.gateway.stdio;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.json.backend.OpenQuestions;
import dev.holdfast.json.backend.ServerIds;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session's way to its child, and the child's way to the client. Messages pass as the bytes they are; only the ids of the child's own
 * requests are replaced, and restored in the client's answers, and those ids and progress tokens of the client's that the child would not
 * tell from others, or not give back as they are ({@link ServerIds}).
 *
 * <p>Each message of the child has one stream that it belongs on. Responses go to their call, progress to the call of its token, if that runs
 * or has become a task, and news of lists and resources to the listening stream, and requests there too while the client listens. For the rest
 * the child gives no hint: it goes to the only running call, else to the listening stream if its client listens or may be on its way back, else
 * to the newest running call, else to the listening stream's log. While a client is on its way back, it may not know the stream of a call: a
 * head that was cut off.
 */
final class StdioConnection implements BackendConnection, Child.Listener, OpenQuestions.Server {
    private static final Logger log = LoggerFactory.getLogger(StdioConnection.class);

    private final Child child;
    private final ListeningSink listening;
    private final StdioBackend.Opening opening;
    private final EnvelopeReader envelopes;
    private final CommitGate gate;
    private final RunningCalls calls = new RunningCalls();
    private final OpenQuestions questions;
    private final String pingPrefix;
    private int pings;
    /** The ping that has no answer, and when that comes too late. */
    private Optional<RequestId> ping = Optional.empty();

    private @Nullable Future<?> pingDeadline;
    private volatile Optional<String> death = Optional.empty();

    /**
     * A connection to a child that nobody listens to yet.
     *
     * @param incarnation makes the ids of the child's requests, and of pings, different from those of any other child of the session
     * @param opening learns if the child dies before its end
     */
    StdioConnection(
            Child child,
            String incarnation,
            ListeningSink listening,
            StdioBackend.Opening opening,
            EnvelopeReader envelopes) {
        this.child = child;
        this.listening = listening;
        this.opening = opening;
        this.envelopes = envelopes;
        this.gate = new CommitGate(child.options().uncommittedBytes());
        this.questions = new OpenQuestions(incarnation, listening, this);
        this.pingPrefix = "holdfast-ping-" + incarnation + "-";
    }

    @Override
    public void call(InboundMessage request, CallSink sink) {
        if (death.isPresent()) {
            listening.lost(death.get(), List.of(request));
        } else {
            begin(request, sink, message -> calls.start(request, message, sink));
        }
    }

    @Override
    public void replay(InboundMessage request, CallSink sink) {
        if (death.isPresent()) {
            // an error would say that no server process can go on with the session; that this one is dead ends its
            // replay
            listening.lost(death.get());
        } else {
            begin(request, sink, message -> calls.startMute(request, message, sink));
        }
    }

    private void begin(InboundMessage request, CallSink sink, Function<Envelope, ServerIds.Names> start) {
        Envelope message = envelopes.message(request);
        ServerIds.Names names = start.apply(message);
        RequestId theirs = names.id();
        child.write(names.of(message).onOneLine());
        sink.onCancel(notification -> {
            if (calls.cancel(theirs, sink)) {
                cancelled(theirs, sink, notification);
            }
        });
    }

    private void cancelled(RequestId theirs, CallSink sink, Optional<InboundMessage> notification) {
        child.write(notification
                .map(told -> cancelling(theirs, envelopes.message(told)))
                .orElseGet(() -> JsonRpc.MESSAGES.cancelled(theirs, "cancelled").bytes()));
        questions.ended(sink);
        if (notification.isEmpty()) {
            // it was not the client that gave up: the call ran into its time limit
            ping();
        }
    }

    /** The client's word, with the id that the child knows. */
    private static byte[] cancelling(RequestId theirs, Envelope notification) {
        return (notification.cancelledRequest().isPresent() ? notification.withCancelledRequest(theirs) : notification)
                .onOneLine();
    }

    @Override
    public void notify(InboundMessage notification) {
        child.write(envelopes.message(notification).onOneLine());
    }

    @Override
    public void answer(InboundMessage response) {
        Optional<RequestId> spelling = questions.answered(response.requiredId());
        if (spelling.isPresent()) {
            child.write(envelopes.message(response).withId(spelling.get()).onOneLine());
        } else {
            log.debug("{}: an answer that it does not wait for was dropped", child.name());
        }
    }

    @Override
    public CompletionStage<Void> close() {
        return child.close();
    }

    /** Asks a child that did not answer a call in time whether it answers at all. One that does not is given up, so that the next call gets another. */
    private synchronized void ping() {
        if (ping.isPresent()) {
            return;
        }
        RequestId id = JsonRpc.stringId(pingPrefix + ++pings);
        ping = Optional.of(id);
        child.write(("{\"jsonrpc\":\"2.0\",\"id\":" + id.token() + ",\"method\":\"ping\"}").getBytes(UTF_8));
        Duration patience = child.options().pingPatience();
        pingDeadline = child.afterReading(patience, () -> {
            if (answersPing(id)) {
                child.giveUp("the server process did not answer a ping within " + Durations.text(patience)
                        + " after a call had taken too long");
            }
        });
    }

    /** Whether this is the id of the open ping, which is over then. */
    private synchronized boolean answersPing(RequestId id) {
        boolean open = ping.equals(Optional.of(id));
        if (open) {
            forgetPing();
        }
        return open;
    }

    private synchronized void forgetPing() {
        ping = Optional.empty();
        if (pingDeadline != null) {
            pingDeadline.cancel(false);
        }
    }

    /** Too much of what it has said waits for the store. */
    @Override
    public boolean busy() {
        return gate.holds();
    }

    /** What a child says before a new session is open is stored after that: it would wait for an answer that is behind it. */
    @Override
    public void awaitReady() {
        if (opening.open()) {
            child.giveUp("the server process sent more than " + child.options().uncommittedBytes()
                    + " bytes of other messages before it answered initialize");
        }
        gate.pass();
    }

    @Override
    public void died(String cause) {
        death = Optional.of(cause);
        closed();
        if (!opening.fail(cause)) {
            listening.lost(cause);
        }
    }

    @Override
    public void closed() {
        forgetPing();
        gate.open();
    }

    /**
     * Passes on the messages in a line of the child. A line without JSON-RPC is dropped: calls that it was to answer end, a request is
     * refused.
     */
    @Override
    public void received(byte[] line) {
        if (death.isPresent() || line.length == 0) {
            return;
        }
        EnvelopeReader.Parsed parsed = envelopes.read(line);
        if (parsed instanceof EnvelopeReader.Single single) {
            route(single.message());
        } else if (parsed instanceof EnvelopeReader.Batch batch) {
            batch.messages().forEach(this::route);
        } else if (parsed instanceof EnvelopeReader.Malformed malformed) {
            child.lines()
                    .write(more -> log.warn(
                            "{}: a line was dropped, {}: {}{}",
                            child.name(),
                            malformed.message(),
                            LogText.of(line),
                            more));
            envelopes.answered(line).forEach(id -> misanswered(id, malformed.message()));
            envelopes
                    .asked(line)
                    .ifPresent(id -> refuse(JsonRpc.MESSAGES.error(id, malformed.code(), malformed.message())));
        }
    }

    private void route(Envelope message) {
        switch (message.kind()) {
            case RESPONSE, ERROR -> responded(message);
            case REQUEST ->
                questions.ask(message, listening.attached() ? Optional.empty() : calls.unattributed(listening));
            case NOTIFICATION -> notified(message);
        }
    }

    private void responded(Envelope message) {
        Optional<RunningCalls.Ended> call = message.id().flatMap(calls::end);
        if (call.isPresent()) {
            end(call.get(), message.withId(call.get().id()).outbound());
        } else if (message.id().filter(this::answersPing).isEmpty()) {
            strayed(message);
        }
    }

    private void end(RunningCalls.Ended call, OutboundMessage answer) {
        sent(answer.bytes().length, call.sink().send(answer));
        questions.ended(call.sink());
    }

    /** A call would wait for ever for another answer. */
    private void misanswered(RequestId theirs, String fault) {
        Optional<RunningCalls.Ended> call = calls.end(theirs);
        if (call.isPresent()) {
            String cause = "the server process sent an answer that is not JSON-RPC: " + fault;
            end(call.get(), JsonRpc.MESSAGES.error(call.get().id(), JsonRpc.SERVER_ERROR, cause));
        } else if (!answersPing(theirs)) {
            log.debug("{}: nobody waits for it", child.name());
        }
    }

    /** An answer to a call that is over is nothing new; while others run, it may be one of theirs that the child has spelled wrongly. */
    private void strayed(Envelope message) {
        boolean late = message.id().filter(calls::late).isPresent();
        if (late || calls.none()) {
            log.debug("{}: nobody waits for it, dropped: {}", child.name(), message);
        } else {
            child.lines()
                    .write(more -> log.warn(
                            "{}: an answer that no running call waits for was dropped: {}{}",
                            child.name(),
                            message,
                            more));
        }
    }

    private void notified(Envelope message) {
        String method = message.method();
        if (method.equals("notifications/progress")) {
            progress(message);
        } else if (method.equals("notifications/cancelled")) {
            if (questions.withdraw(message).isEmpty()) {
                log.debug("{}: it gives up what is not open, dropped: {}", child.name(), message);
            }
        } else if (method.endsWith("/list_changed") || method.equals("notifications/resources/updated")) {
            send(Optional.empty(), message);
        } else {
            send(calls.unattributed(listening), message);
        }
    }

    private void progress(Envelope message) {
        Optional<RunningCalls.Told> told = message.progressToken().flatMap(calls::ofToken);
        if (told.isEmpty()) {
            log.debug("{}: no running call asked for it, dropped: {}", child.name(), message);
            listening.unsolicited();
            return;
        }
        send(
                told.get().call().or(() -> calls.unattributed(listening)),
                message.withProgressToken(told.get().token()));
    }

    private void send(Optional<CallSink> call, Envelope message) {
        OutboundMessage outbound = message.outbound();
        sent(message.bytes().length, call.isPresent() ? call.get().send(outbound) : listening.send(outbound));
    }

    @Override
    public void refuse(OutboundMessage error) {
        child.write(error.bytes());
    }

    @Override
    public boolean runs(CallSink call) {
        return calls.runs(call);
    }

    @Override
    public void sent(int bytes, CompletionStage<Void> commit) {
        gate.sent(bytes, commit);
    }
}
