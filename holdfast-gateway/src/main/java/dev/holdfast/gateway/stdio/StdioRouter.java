package dev.holdfast.gateway.stdio;

import dev.holdfast.LogThrottle;
import dev.holdfast.gateway.process.ChildName;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the one stream that each message of a child belongs on. Responses go to their call, progress to the call of its token, if
 * that runs or has become a task, and news of lists and resources to the listening stream, and requests there too while the client listens ({@link StdioQuestions}).
 * For the rest the child gives no hint: it goes to the only running call,
 * else to the listening stream if its client listens or may be on its way back, else to the newest running call, else to the
 * listening stream's log. While a client is on its way back, it may not know the stream of a call: a head that was cut off.
 */
final class StdioRouter {
    private static final Logger log = LoggerFactory.getLogger(StdioRouter.class);

    private final ChildName name;
    private final LogThrottle lines;
    private final RunningCalls calls;
    private final StdioQuestions questions;
    private final Probe probe;
    private final ListeningSink listening;
    private final CommitGate gate;
    private final EnvelopeReader envelopes;

    StdioRouter(
            ChildName name,
            LogThrottle lines,
            RunningCalls calls,
            StdioQuestions questions,
            Probe probe,
            ListeningSink listening,
            CommitGate gate,
            EnvelopeReader envelopes) {
        this.name = name;
        this.lines = lines;
        this.calls = calls;
        this.questions = questions;
        this.probe = probe;
        this.listening = listening;
        this.gate = gate;
        this.envelopes = envelopes;
    }

    /**
     * Passes on the messages in a line of the child. A line without JSON-RPC is dropped: calls that it was to answer end, a request is
     * refused.
     */
    void route(byte[] line) {
        EnvelopeReader.Parsed parsed = envelopes.read(line);
        if (parsed instanceof EnvelopeReader.Single single) {
            route(single.message());
        } else if (parsed instanceof EnvelopeReader.Batch batch) {
            batch.messages().forEach(this::route);
        } else if (parsed instanceof EnvelopeReader.Malformed malformed) {
            lines.write(more ->
                    log.warn("{}: a line was dropped, {}: {}{}", name, malformed.message(), LogText.of(line), more));
            envelopes.answered(line).forEach(id -> misanswered(id, malformed.message()));
            envelopes.asked(line).ifPresent(id -> questions.refuse(id, malformed.code(), malformed.message()));
        }
    }

    private void route(Envelope message) {
        switch (message.kind()) {
            case RESPONSE, ERROR -> answer(message);
            case REQUEST -> questions.ask(message);
            case NOTIFICATION -> notification(message);
        }
    }

    private void answer(Envelope message) {
        Optional<RunningCalls.Ended> call = message.id().flatMap(calls::end);
        if (call.isPresent()) {
            Envelope clients = message.withId(call.get().id());
            end(call.get(), clients.outbound());
        } else if (message.id().filter(probe::answered).isEmpty()) {
            strayed(message);
        }
    }

    private void end(RunningCalls.Ended call, OutboundMessage answer) {
        gate.sent(answer.bytes().length, call.sink().send(answer));
        questions.ended(call.sink());
    }

    /** A call would wait for ever for another answer. */
    private void misanswered(RequestId theirs, String fault) {
        Optional<RunningCalls.Ended> call = calls.end(theirs);
        if (call.isPresent()) {
            String cause = "the server process sent an answer that is not JSON-RPC: " + fault;
            end(call.get(), JsonRpc.MESSAGES.error(call.get().id(), JsonRpc.SERVER_ERROR, cause));
        } else if (!probe.answered(theirs)) {
            log.debug("{}: nobody waits for it", name);
        }
    }

    /** An answer to a call that is over is nothing new; while others run, it may be one of theirs that the child has spelled wrongly. */
    private void strayed(Envelope message) {
        boolean late = message.id().filter(calls::late).isPresent();
        if (late || calls.none()) {
            log.debug("{}: nobody waits for it, dropped: {}", name, message);
        } else {
            lines.write(more ->
                    log.warn("{}: an answer that no running call waits for was dropped: {}{}", name, message, more));
        }
    }

    private void notification(Envelope message) {
        String method = message.method();
        if (method.equals("notifications/progress")) {
            progress(message);
        } else if (method.equals("notifications/cancelled")) {
            questions.withdraw(message);
        } else if (method.endsWith("/list_changed") || method.equals("notifications/resources/updated")) {
            send(listening::send, message);
        } else {
            send(unattributed(), message);
        }
    }

    private void progress(Envelope message) {
        Optional<RunningCalls.Told> told = message.progressToken().flatMap(calls::ofToken);
        if (told.isEmpty()) {
            log.debug("{}: no running call asked for it, dropped: {}", name, message);
            listening.unsolicited();
            return;
        }
        RequestId token = told.get().token();
        Envelope clients = message.withProgressToken(token);
        Optional<CallSink> call = told.get().call();
        send(call.isPresent() ? call.get()::send : unattributed(), clients);
    }

    private Carrier unattributed() {
        Optional<CallSink> call = calls.unattributed(listening);
        return call.isPresent() ? call.get()::send : listening::send;
    }

    private void send(Carrier carrier, Envelope message) {
        gate.sent(message.bytes().length, carrier.send(message.outbound()));
    }
}
