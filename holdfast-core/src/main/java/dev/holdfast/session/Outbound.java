package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StaleEpochException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What a session's backend sends: from its hands into the log, and what a commit, or the lack of one, then changes. */
final class Outbound {
    private static final int INTERNAL_ERROR = -32603;
    private static final int NO_INCARNATION = 0;
    private static final String GIVEN_UP = "the client has not answered, and too much waits for it";

    /** Takes the answer to a question of the backend's, from whoever gives it. */
    interface Asker {
        /** Answers this incarnation of the backend, if it is still there. */
        void answer(int incarnation, InboundMessage response);
    }

    private final SessionCore core;
    private final OwnMessages own;
    private final CallEnding calls;
    private final LogRecovery recovery;
    private final Asker asker;

    Outbound(SessionCore core, OwnMessages own, CallEnding calls, Asker asker) {
        this.core = core;
        this.own = own;
        this.calls = calls;
        this.recovery = new LogRecovery(core);
        this.asker = asker;
    }

    /**
     * Appends to the listening stream what an incarnation of the backend sends outside of calls.
     *
     * @param present whether it is the present one; asked inside the step
     */
    CompletionStage<Void> send(int incarnation, OutboundMessage message, BooleanSupplier present) {
        return send(core.streams().listening(), message, null, incarnation, present);
    }

    /** Appends the answer to a request that is in nobody's hands. */
    CompletionStage<Void> send(RequestSink sink, OutboundMessage message) {
        return send(sink.call().stream(), message, sink, NO_INCARNATION, () -> sink.takes(message));
    }

    /** Appends to the stream of a call what an incarnation of the backend sends for a request that is in its hands. */
    CompletionStage<Void> send(HandedSink way, OutboundMessage message) {
        RequestSink sink = way.sink();
        boolean progress = message.kind() == EventKind.PROGRESS;
        OptionalDouble here = progress ? core.host().messages().progress(message.bytes()) : OptionalDouble.empty();
        BooleanSupplier taken = () -> {
            if (sink.isHeldBy(way) && sink.takes(message)) {
                return !progress || sink.tellsProgress(here);
            }
            if (progress) {
                core.host().telemetry().unsolicited();
            }
            return false;
        };
        return send(sink.call().stream(), message, sink, way.incarnation(), taken);
    }

    /** Appends to the listening stream a notification that no backend has sent, unless the session is leaving. */
    CompletionStage<Void> tell(OutboundMessage notification) {
        BooleanSupplier stays = () -> !core.lifecycle().state().closed();
        return send(core.streams().listening(), notification, null, NO_INCARNATION, stays);
    }

    private CompletionStage<Void> send(
            LiveStream stream,
            OutboundMessage message,
            @Nullable RequestSink sink,
            int incarnation,
            BooleanSupplier taken) {
        Supplier<CompletionStage<Void>> stage = core.step(step -> {
            if (core.outbox().closed() || !taken.getAsBoolean()) {
                return () -> SessionLog.DONE;
            }
            if (core.streams().overdue()) {
                if (core.outbox().started()) {
                    step.end(EndReason.OVERFLOW);
                }
                return Outbound::unavailable;
            }
            boolean answers = sink != null && EventKind.answers(message.kind());
            if (!core.outbox().open()) {
                if (sink != null && answers) {
                    calls.loseAnswer(sink, step);
                }
                return Outbound::unavailable;
            }
            Pending pending = sink != null && answers
                    ? calls.answer(sink, message, step)
                    : add(stream, message, Optional.ofNullable(sink).map(RequestSink::call), incarnation, step);
            return () -> core.log().stageOf(pending);
        });
        return stage.get();
    }

    private static CompletionStage<Void> unavailable() {
        return CompletableFuture.failedFuture(new StoreUnavailableException(null));
    }

    private Pending add(
            LiveStream stream, OutboundMessage message, Optional<LiveCall> call, int incarnation, Step step) {
        KeptEvent event = core.streams().assign(stream, message, step);
        RequestId id = message.id();
        if (id != null && EventKind.asks(message.kind())) {
            core.requests()
                    .ask(id, new OpenRequests.Question(event, incarnation, call))
                    .ifPresent(oldest -> {
                        core.givenUp().addLast(oldest);
                        core.streams().retention().settle(List.of(oldest.node()), step);
                    });
        }
        Pending pending = new Pending(event, List.of());
        core.outbox().add(pending, step);
        return pending;
    }

    /** The backend gives up what it asked, and has told the client itself. */
    void withdrawn(RequestId question) {
        core.run(step -> core.requests()
                .answered(question)
                .ifPresent(asked -> core.streams().retention().settle(List.of(asked.node()), step)));
    }

    /** Nobody can answer it any more. */
    void questionDropped(RequestId question, Step step) {
        core.requests().answered(question).ifPresent(core.givenUp()::addLast);
    }

    /** Makes room for what the step has kept, if that is needed, and tells those who asked what nobody will answer. */
    void concluding(Step step) {
        if (core.streams().retention().crowds(step)) {
            step.then(core.host()::makeRoom);
        }
        if (core.givenUp().isEmpty()) {
            return;
        }
        for (OpenRequests.Question question : core.givenUp().takeAll()) {
            RequestId id = Objects.requireNonNull(question.node().event.id());
            byte[] error =
                    core.host().messages().error(id, INTERNAL_ERROR, GIVEN_UP).bytes();
            InboundMessage response = new InboundMessage(
                    InboundMessage.Kind.RESPONSE, id, "", error, JournalChange.NONE, InboundMessage.NO_CONTEXT);
            step.then(() -> asker.answer(question.incarnation(), response));
        }
    }

    /** The session ends: what it still keeps counts no more for the node. */
    void leave() {
        core.run(step -> core.streams().retention().leave(step));
    }

    /** Ends the log, every stream and every call. */
    void close(EndReason reason) {
        core.run(step -> {
            core.outbox().close(step);
            for (RequestSink sink : core.requests().all()) {
                sink.call().stream().say(new LastWords(core).to(List.of(sink.id()), reason), step);
            }
            for (LiveStream stream : core.streams().all()) {
                if (reason == EndReason.PARKED && !stream.recorded()) {
                    // nobody is sent back to a stream that the store does not know
                    stream.reader().ifPresent(reader -> reader.supersede(step));
                }
                stream.seal(reason, step);
                stream.reader().ifPresent(reader -> Readers.wakeAtEnd(reader, reason, step));
                stream.empty(step);
            }
            core.requests().all().forEach(sink -> calls.lose(sink, step));
        });
    }

    void committed(Pending pending, Step step) {
        recovery.committed();
        KeptEvent event = pending.event();
        if (event == null) {
            pending.committed(step);
            return;
        }
        if (!core.streams().commit(event, step)) {
            step.end(EndReason.OVERFLOW);
        }
        pending.committed(step);
        event.stream.reader().ifPresent(step::then);
    }

    void refused(Pending pending, Step step) {
        own.refused(pending, step);
        KeptEvent event = pending.event();
        if (event == null) {
            return;
        }
        core.streams().rollback(event, step);
        RequestId asked = event.event.id();
        if (asked != null && EventKind.asks(event.event.kind())) {
            core.requests().answered(asked);
        }
        pending.refused(step);
        event.stream.reader().ifPresent(step::then);
    }

    void doubtful(Throwable failure, Step step) {
        boolean lost = failure instanceof LeaseLostException;
        if (lost || (failure instanceof StaleEpochException && core.host().shared())) {
            core.takenOver();
            core.outbox().dismissWaiting(step);
            step.end(lost ? core.endWithLease() : EndReason.TAKEN_OVER);
        } else {
            // in a store that nobody shares, it is a claim of this engine's own that has happened late
            step.then(() -> recovery.begin(failure));
        }
    }

    void recovered(Step step) {
        own.recovered(step);
    }
}
