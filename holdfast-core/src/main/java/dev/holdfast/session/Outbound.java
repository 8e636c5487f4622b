package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.session.StoreQuestion.LeaseLostException;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.UnreadableSessionException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a session's backend sends: from its hands into the log, and what a commit, or the lack of one, then changes. */
final class Outbound {
    private static final Logger logger = LoggerFactory.getLogger(Outbound.class);
    /** After so many failures of the store the pause does not grow any more: 3.2 s. */
    private static final int GROWING = 6;

    private static final long FIRST_DELAY_MILLIS = 50;
    private static final int NO_INCARNATION = 0;
    private static final String GIVEN_UP = "the client has not answered, and too much waits for it";

    private final SessionCore core;
    private final Answers answers;
    /** How often in a row the store has failed. */
    private int failures;

    Outbound(SessionCore core, Answers answers) {
        this.core = core;
        this.answers = answers;
    }

    /**
     * Appends to the listening stream what an incarnation of the backend sends outside of calls.
     *
     * @param present whether it is the present one; asked under the lock
     */
    CompletionStage<Void> send(int incarnation, OutboundMessage message, BooleanSupplier present) {
        return send(core.streams().listening(), message, null, incarnation, step -> present.getAsBoolean());
    }

    /** Appends the answer to a request that is in nobody's hands. */
    CompletionStage<Void> send(CallRequest request, OutboundMessage message) {
        return send(request.call().stream(), message, request, NO_INCARNATION, step -> request.takes(message));
    }

    /** Appends to the stream of a call what an incarnation of the backend sends for a request that is in its hands. */
    CompletionStage<Void> send(CallRequest.Held held, OutboundMessage message) {
        CallRequest request = held.request();
        boolean progress = message.kind() == EventKind.PROGRESS;
        OptionalDouble here = progress ? core.host().messages().progress(message.bytes()) : OptionalDouble.empty();
        Predicate<Step> taken = step -> {
            if (request.isHeldBy(held) && request.takes(message)) {
                return !progress || request.tellsProgress(here, step);
            }
            if (progress) {
                core.host().telemetry().unsolicited();
            }
            return false;
        };
        return send(request.call().stream(), message, request, held.incarnation(), taken);
    }

    /** Appends to the listening stream a notification that no backend has sent, unless the session is leaving. */
    CompletionStage<Void> tell(OutboundMessage notification) {
        Predicate<Step> stays = step -> !core.lifecycle().state().closed();
        return send(core.streams().listening(), notification, null, NO_INCARNATION, stays);
    }

    private CompletionStage<Void> send(
            LiveStream stream,
            OutboundMessage message,
            @Nullable CallRequest request,
            int incarnation,
            Predicate<Step> taken) {
        Supplier<CompletionStage<Void>> stage = core.step(step -> {
            if (core.outbox().closed() || !taken.test(step)) {
                return () -> SessionLog.DONE;
            }
            if (core.streams().overdue()) {
                if (core.outbox().started()) {
                    step.end(EndReason.OVERFLOW);
                }
                return Outbound::unavailable;
            }
            boolean answering = request != null && EventKind.answers(message.kind());
            if (!core.outbox().open()) {
                if (request != null && answering) {
                    answers.loseAnswer(request, step);
                }
                return Outbound::unavailable;
            }
            Pending pending = request != null && answering
                    ? answers.answer(request, message, step)
                    : add(stream, message, Optional.ofNullable(request).map(CallRequest::call), incarnation, step);
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
                    .ask(id, new OpenRequests.Question(event, incarnation, call), step)
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
                .answered(question, step)
                .ifPresent(asked -> core.streams().retention().settle(List.of(asked.node()), step)));
    }

    /** Nobody can answer it any more. */
    void questionDropped(RequestId question, Step step) {
        core.requests().answered(question, step).ifPresent(core.givenUp()::addLast);
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
            byte[] error = core.host()
                    .messages()
                    .error(id, SessionCore.INTERNAL_ERROR, GIVEN_UP)
                    .bytes();
            InboundMessage response = new InboundMessage(
                    InboundMessage.Kind.RESPONSE, id, "", error, JournalChange.NONE, InboundMessage.NO_CONTEXT);
            step.then(() -> core.owner().answer(question.incarnation(), response));
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
            for (CallRequest request : core.requests().all()) {
                request.call().stream().tellAtEnd(core.finalErrors(List.of(request.id()), reason), step);
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
            core.requests().all().forEach(request -> answers.lose(request, step));
        });
    }

    void committed(Pending pending, Step step) {
        failures = 0;
        core.host().storeWorks(true);
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
        KeptEvent event = pending.event();
        if (event == null) {
            return;
        }
        core.streams().rollback(event, step);
        RequestId asked = event.event.id();
        if (asked != null && EventKind.asks(event.event.kind())) {
            core.requests().answered(asked, step);
        }
        pending.refused(step);
        event.stream.reader().ifPresent(step::then);
    }

    void doubtful(Throwable failure, Step step) {
        boolean lost = failure instanceof LeaseLostException;
        if (lost || (failure instanceof StaleEpochException && core.host().shared())) {
            core.takenOver(step);
            core.outbox().dismissWaiting(step);
            step.end(lost ? core.endWithLease() : EndReason.TAKEN_OVER);
        } else {
            // in a store that nobody shares, it is a claim of this engine's own that has happened late
            step.then(() -> recover(failure));
        }
    }

    /*
     * A log whose append has failed is brought back: by a claim at once, then by further ones with growing pauses, until an append succeeds
     * or the session ends. After a few seconds nobody waits any longer for what is in doubt.
     */

    /** The store has failed, or has failed to help. */
    private void recover(Throwable failure) {
        if (unreadable(failure)) {
            lost(failure);
            return;
        }
        int attempt = core.look(() -> ++failures);
        Throwable cause = causeOf(failure);
        if (cause == null || !core.host().cluster().saidByStore(cause)) {
            core.host().storeWorks(false);
        }
        if (attempt == 1) {
            claim();
            return;
        }
        if (attempt == GROWING) {
            core.host().telemetry().storeFails(core.id(), failure);
        }
        if (attempt >= GROWING) {
            core.run(core.outbox()::dismissWaiting);
        }
        core.host().later(this::claim, FIRST_DELAY_MILLIS << Math.min(attempt, GROWING));
    }

    private void claim() {
        if (core.lifecycle().state().closed()) {
            core.run(core.outbox()::dismissWaiting);
            return;
        }
        core.log().claim(core.host().random().nextInt()).whenComplete((found, failure) -> {
            if (failure == null) {
                if (!found) {
                    core.end(missing());
                }
            } else if (unreadable(failure)) {
                lost(failure);
            } else {
                recover(failure);
            }
        });
    }

    private void lost(Throwable failure) {
        core.host().telemetry().unreadable(core.id(), failure);
        core.end(EndReason.RESTORE_FAILED);
    }

    /** Why the store does not have the session: a store that goes by a wall clock may have let it expire. */
    private EndReason missing() {
        if (core.look(core.record()::expiresAt) <= core.host().wallClock().millis()) {
            return EndReason.EXPIRED;
        }
        EndReason why = core.host().cluster().missing();
        if (why == EndReason.STORE_FAILED) {
            logger.error("session {}: the store has lost it", core.shortId());
        } else {
            logger.warn("session {}: the store has it no more; another node has ended it", core.shortId());
        }
        return why;
    }

    /** Whether the store will never be able to answer. */
    private static boolean unreadable(Throwable failure) {
        return causeOf(failure) instanceof UnreadableSessionException;
    }

    private static @Nullable Throwable causeOf(Throwable failure) {
        return failure instanceof CompletionException ? failure.getCause() : failure;
    }
}
