package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.TooLargeException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What goes to a session's client: what its backend sends, the errors of the engine's own, and what the engine tells it beside. It
 * ends the client's requests, with an answer or without one.
 */
final class Outbound {
    private static final int NO_INCARNATION = 0;
    /** Stands for a message that is not wanted any more. */
    private static final Pending DROPPED = new Pending(null, List.of());
    /** Stands for a message that the log does not take now. */
    private static final Pending UNAVAILABLE = new Pending(null, List.of());

    static final String INTERRUPTED =
            "the server ended while this call was running; whether it had any effect is not known";
    private static final String NOT_STORED = "the response could not be stored";

    private final SessionCore core;
    /** Why the backend was lost last. */
    private String lastLoss = "";

    Outbound(SessionCore core) {
        this.core = core;
    }

    /**
     * Appends to the listening stream what an incarnation of the backend sends outside of calls.
     *
     * @param present whether it is the present one; asked under the lock
     */
    CompletionStage<Void> send(int incarnation, OutboundMessage message, BooleanSupplier present) {
        return send(core.streams.listening(), message, null, incarnation, step -> present.getAsBoolean());
    }

    /** Appends the answer to a request that is in nobody's hands. */
    CompletionStage<Void> send(LiveCall.Request request, OutboundMessage message) {
        return send(request.call.stream, message, request, NO_INCARNATION, step -> request.takes(message));
    }

    /**
     * Appends to the stream of a call what an incarnation of the backend sends for a request that is in its hands. Where that has changed
     * the journal, whoever serves the session knows of it before the client does.
     */
    CompletionStage<Void> send(LiveCall.Held held, OutboundMessage message) {
        LiveCall.Request request = held.request;
        boolean accepts =
                message.kind() == EventKind.RESPONSE && !(request.message().journal() instanceof JournalChange.None);
        return accepts ? accept(held, message) : append(held, message);
    }

    private CompletionStage<Void> accept(LiveCall.Held held, OutboundMessage message) {
        LiveCall.Request request = held.request;
        InboundMessage accepted = request.message();
        Pending change = new Pending(null, Journal.changes(accepted)) {
            @Override
            public void committed(Step step) {
                core.journal.apply(accepted, step);
                core.accepted(accepted, held.incarnation, step);
            }
        };
        boolean added = core.log.step(step -> {
            boolean takes = core.outbox.open() && request.isHeldBy(held) && request.takes(message);
            if (takes) {
                core.outbox.add(change, step);
            }
            return takes;
        });
        return added
                ? journaled(change)
                        .handle((done, failure) -> failure == null ? message : error(request, NOT_STORED))
                        .thenCompose(answer -> append(held, answer))
                : append(held, message);
    }

    /** Completes when the store has a change of the journal, and every other node that has the session knows of it. */
    CompletionStage<Void> journaled(Pending change) {
        return StoreQuestion.ask(() ->
                core.log.stageOf(change).thenCompose(done -> core.host.cluster().journalTold(core.key())));
    }

    private CompletionStage<Void> append(LiveCall.Held held, OutboundMessage message) {
        LiveCall.Request request = held.request;
        boolean progress = message.kind() == EventKind.PROGRESS;
        OptionalDouble here = progress ? core.host.messages.progress(message.bytes()) : OptionalDouble.empty();
        Predicate<Step> taken = step -> {
            if (request.isHeldBy(held) && request.takes(message)) {
                return !progress || request.tellsProgress(here, step);
            }
            if (progress) {
                core.host.telemetry.unsolicited();
            }
            return false;
        };
        return send(request.call.stream, message, request, held.incarnation, taken);
    }

    /** Appends a note of the edge to the stream of a call that has not got all its answers; completes with whether it was. */
    CompletionStage<Boolean> note(LiveCall call, OutboundMessage note) {
        Pending noted = core.log.step(step -> {
            if (call.answered() || core.outbox.closed()) {
                return DROPPED;
            }
            return core.outbox.open() ? add(call.stream, note, Optional.of(call), NO_INCARNATION, step) : UNAVAILABLE;
        });
        if (noted == UNAVAILABLE) {
            return CompletableFuture.failedFuture(new StoreUnavailableException(null));
        }
        return noted == DROPPED
                ? CompletableFuture.completedFuture(false)
                : core.log.stageOf(noted).thenApply(done -> true);
    }

    /** Appends to the listening stream a notification that no backend has sent, unless the session is leaving. */
    CompletionStage<Void> tell(OutboundMessage notification) {
        Predicate<Step> stays = step -> !core.lifecycle.closed();
        return send(core.streams.listening(), notification, null, NO_INCARNATION, stays);
    }

    private CompletionStage<Void> send(
            LiveStream stream,
            OutboundMessage message,
            LiveCall.@Nullable Request request,
            int incarnation,
            Predicate<Step> taken) {
        Pending sent = core.log.step(step -> {
            if (core.outbox.closed() || !taken.test(step)) {
                return DROPPED;
            }
            if (core.streams.overdue()) {
                if (core.outbox.started()) {
                    step.end(EndReason.OVERFLOW);
                }
                return UNAVAILABLE;
            }
            boolean answering = request != null && EventKind.answers(message.kind());
            if (!core.outbox.open()) {
                if (request != null && answering) {
                    loseAnswer(request, step);
                }
                return UNAVAILABLE;
            }
            return request != null && answering
                    ? answer(request, message, step)
                    : add(stream, message, Optional.ofNullable(request).map(asking -> asking.call), incarnation, step);
        });
        if (sent == DROPPED) {
            return SessionLog.DONE;
        }
        return sent == UNAVAILABLE
                ? CompletableFuture.failedFuture(new StoreUnavailableException(null))
                : core.log.stageOf(sent);
    }

    /** What a question gets without its client: what that has told a backend before; a pong where no client knows of it. */
    private Optional<InboundMessage> known(
            RequestId asked, OutboundMessage message, Optional<LiveCall> call, Step step) {
        if (message.kind() == EventKind.PING && core.kind.equals(SessionRecord.CARRIER)) {
            return core.host.messages.pong(asked);
        }
        return message.kind() == EventKind.SERVER_REQUEST
                ? call.filter(LiveCall::hasAnswers)
                        .flatMap(asking -> core.host
                                .messages
                                .asked(message.bytes())
                                .flatMap(question -> asking.answerTo(question, step)))
                        .flatMap(bytes -> core.host.messages.answer(asked, bytes))
                : Optional.empty();
    }

    /** Whoever has asked may go on for long on the thread that brings the answer. */
    private void give(int incarnation, InboundMessage answer) {
        if (!core.host.elsewhere(() -> core.answer(incarnation, answer))) {
            core.answer(incarnation, answer);
        }
    }

    private Pending add(
            LiveStream stream, OutboundMessage message, Optional<LiveCall> call, int incarnation, Step step) {
        RequestId id = message.id();
        boolean asks = id != null && EventKind.asks(message.kind());
        Optional<InboundMessage> known = id != null && asks ? known(id, message, call, step) : Optional.empty();
        if (known.isPresent()) {
            step.thenLast(() -> give(incarnation, known.get()));
            return DROPPED;
        }
        KeptEvent event = core.streams.assign(stream, message, step);
        if (id != null && asks) {
            core.requests
                    .ask(id, new OpenRequests.Question(event, incarnation, call), step)
                    .ifPresent(oldest -> {
                        core.giveUp(oldest, step);
                        core.streams.settle(List.of(oldest.node()), step);
                    });
        }
        Pending pending = new Pending(event, List.of());
        core.outbox.add(pending, step);
        return pending;
    }

    /** The backend gives up what it asked, and has told the client itself. */
    void withdrawn(RequestId question) {
        core.log.run(step -> core.requests
                .answered(question, step)
                .ifPresent(asked -> core.streams.settle(List.of(asked.node()), step)));
    }

    /**
     * The backend has answered a request, while the log is open. An answer for which the session has no room ends the request with an
     * error, as it would end the session.
     */
    Pending answer(LiveCall.Request request, OutboundMessage answer, Step step) {
        if (core.streams.hasRoomFor(answer)) {
            return answer(request, answer, NOT_STORED, step);
        }
        String cause = "the answer has " + answer.bytes().length + " bytes and finds no room: a session keeps at most "
                + core.streams.mostLargeBytes() + " bytes of which it does not know that its client has them";
        return answer(request, error(request, cause), cause, step);
    }

    /** The backend has answered a request while the log is not open. */
    void loseAnswer(LiveCall.Request request, Step now) {
        core.outbox.whenOpen(now, step -> fail(request, NOT_STORED, step));
    }

    private Pending answer(LiveCall.Request request, OutboundMessage answer, String otherwise, Step step) {
        KeptEvent event = core.streams.assign(request.call.stream, answer, step);
        request.answer(step);
        Pending pending = new Answer(event, request, answer, otherwise);
        core.outbox.add(pending, step);
        return pending;
    }

    private OutboundMessage error(LiveCall.Request request, String cause) {
        return core.host.messages.error(request.id(), SessionCore.INTERNAL_ERROR, cause);
    }

    /** The answer to a request on its way into the log. */
    private final class Answer extends Pending {
        private final LiveCall.Request request;
        private final OutboundMessage message;
        private final String otherwise;

        /**
         * @param otherwise what the client is told if the store does not have it
         */
        private Answer(KeptEvent event, LiveCall.Request request, OutboundMessage message, String otherwise) {
            super(event, List.of(request.call.recorded()));
            this.request = request;
            this.message = message;
            this.otherwise = otherwise;
        }

        @Override
        public void committed(Step step) {
            request.close(step);
            core.requests.end(request, step);
            if (request.call.done()) {
                end(request.call, step);
            }
            CallWatch watch = request.lastWatch(step);
            if (watch != CallWatch.NONE) {
                step.then(() -> watch.answered(message));
            }
        }

        @Override
        public void refused(Step step) {
            request.unanswer(step);
        }

        @Override
        public void again(Step step) {
            Throwable why = failure();
            if (why instanceof TooLargeException tooLarge) {
                fail(request, tooLargeForStore(tooLarge), step);
            } else if (why instanceof StoreUnavailableException && why.getCause() instanceof TooLargeException) {
                core.outbox.whenOpen(step, open -> {
                    if (request.open()) {
                        answer(request, message, otherwise, open);
                    }
                });
            } else {
                fail(request, otherwise, step);
            }
        }

        private String tooLargeForStore(TooLargeException why) {
            String most = why.limit().isPresent()
                    ? ", which takes at most " + why.limit().getAsLong() + " at once"
                    : "";
            return "the answer has " + message.bytes().length + " bytes, too many for the session store" + most;
        }
    }

    /** Answers a request with an error, now or when the log goes on. */
    void fail(LiveCall.Request request, String cause, Step now) {
        core.outbox.whenOpen(now, step -> {
            if (request.open()) {
                answer(request, error(request, cause), cause, step);
            }
        });
    }

    void failNow(LiveCall.Request request, String cause) {
        core.log.run(step -> fail(request, cause, step));
    }

    /** No backend gets a call; one that was to be gone on with may have had an effect, whatever the cause. */
    void refuse(LiveCall call, String cause) {
        call.requests.forEach(request -> failNow(request, call.goesOn() ? INTERRUPTED : cause));
    }

    /**
     * The backend is gone: what it asked is withdrawn, what it had in its hands is answered with an error, in one step, so that
     * nothing of its successor is hit.
     */
    void backendLost(String cause, Step step) {
        lastLoss = cause;
        List<OpenRequests.Question> questions = core.requests.withdraw(step);
        List<KeptEvent> asked =
                questions.stream().map(OpenRequests.Question::node).toList();
        core.streams.settle(asked, step);
        // a stream of a call ends with the last answer, be that only in the outbox
        questions.stream()
                .filter(question -> question.node().stream.listening()
                        || question.call().filter(LiveCall::answered).isEmpty())
                .forEach(question -> withdraw(question.node(), cause, step));
        core.host.cluster().withdrawn(asked, core.streams, step);
        for (LiveCall.Request request : core.requests.all()) {
            if (request.losesBackend(step)) {
                fail(request, cause, step);
            }
        }
    }

    /** An incarnation of the backend has been given a request; if it was lost meanwhile, the request ends with it. */
    void entered(LiveCall.Request request, int incarnation) {
        core.log.run(step -> {
            if (!request.entered(incarnation, step)) {
                fail(request, lastLoss, step);
            }
        });
    }

    /** An incarnation of the backend has thrown on a request; if that went back from it meanwhile, it goes on elsewhere. */
    void thrown(LiveCall.Request request, int incarnation) {
        core.log.run(now -> core.outbox.whenOpen(now, step -> {
            if (request.incarnation() == incarnation) {
                fail(request, "internal error", step);
            }
        }));
    }

    /**
     * Answers every running call with an error. Completes when what is on its way is committed; fails when the store has not decided
     * that for some seconds.
     */
    CompletionStage<Void> failRunning(String cause) {
        failRunning(cause, call -> true);
        return core.log.settledUnlessStuck();
    }

    /** What a backend may be at work on. */
    List<LiveCall.Request> running() {
        return core.log.look(() -> core.requests.all().stream()
                .filter(request -> request.open() && !request.stopped())
                .toList());
    }

    /** They have ended, and nobody goes on with them: the backend shall give them up. */
    void stop(List<LiveCall.Request> requests) {
        core.log.run(step -> requests.forEach(request -> request.stop(step)));
    }

    /** Answers those calls with an error that nobody can run again. Completes when what is on its way is committed. */
    CompletionStage<Void> failUnrepeatable(String cause) {
        failRunning(cause, call -> !call.rerunnable());
        return core.log.settled();
    }

    private void failRunning(String cause, Predicate<LiveCall> which) {
        core.log.run(step -> core.requests.all().stream()
                .filter(request -> which.test(request.call))
                .forEach(request -> fail(request, cause, step)));
    }

    /** Tells the client that nobody waits for its answer to a question. */
    void withdraw(KeptEvent question, String cause, Step now) {
        core.outbox.whenOpen(now, step -> {
            RequestId asked = question.event.id();
            boolean heard = question.kept && question.event.kind() != EventKind.PING;
            if (asked != null && heard) {
                OutboundMessage message = core.host.messages.cancelled(asked, cause);
                tell(question.stream, message, step, again -> withdraw(question, cause, again));
            }
        });
    }

    /** Tells something to whoever listens. */
    void announce(OutboundMessage message, Step now) {
        core.outbox.whenOpen(
                now, step -> tell(core.streams.listening(), message, step, again -> announce(message, again)));
    }

    private void tell(LiveStream stream, OutboundMessage message, Step now, Consumer<Step> again) {
        if (stream.ended().isEmpty()) {
            core.outbox.add(Pending.of(core.streams.assign(stream, message, now), List.of(), again), now);
        }
    }

    /** Nobody wants a request any more: it ends without an answer. */
    void cancel(LiveCall.Request request, InboundMessage notification, Step step) {
        LiveCall call = request.call;
        request.cancel(notification, step);
        core.requests.end(request, step);
        if (call.answered()) {
            forgetInStore(call, step);
        }
        if (call.done()) {
            end(call, step);
            call.stream.reader().ifPresent(step::then);
        }
    }

    /** The store has a call no more among those that run. */
    void forgetInStore(LiveCall call, Step step) {
        core.outbox.insist(List.of(new RecordChange.CallEnded(call.id)), step);
    }

    /** The log is closed: a request without an answer in it will not get one. */
    void lose(LiveCall.Request request, Step step) {
        request.close(step);
        core.requests.end(request, step);
        CallWatch watch = request.lastWatch(step);
        if (watch != CallWatch.NONE) {
            step.then(watch::lost);
        }
        end(request.call, step);
    }

    /** A call is over. Whoever calls this wakes its reader. */
    void end(LiveCall call, Step step) {
        if (!call.end(step)) {
            return;
        }
        LiveStream stream = call.stream;
        if (stream.listening()) {
            core.requests.askedFor(call).forEach(asked -> core.streams.abandon(asked, step));
        } else {
            stream.end(call.reason(), step);
        }
        long now = core.clock.now();
        core.lifecycle.callEnded(now);
        core.host.running.add(core.principal, -call.requests.size());
        if (stream.reader().isEmpty() && call.reason() == EndReason.CANCELLED && !stream.isNoted()) {
            core.streams.finish(stream, now, step);
        }
    }

    /*
     * Whether a session's backends are the same server, by what each says of itself when it begins. Where a fresh one is another
     * than the one before, the client is told to ask again for the lists that it may have kept: for those whose changes the server
     * promised to tell when the client initialized the session.
     */

    /** The session's first backend has begun. */
    void began(OutboundMessage response) {
        Introduction said = core.host.messages.introduction(response.bytes());
        core.log.run(step -> core.record.introduced(said, step));
    }

    /** The same for a session that has its record already. */
    void began(InboundMessage initialize, Backend.Opened opened) {
        Introduction said = core.host.messages.introduction(opened.response().bytes());
        core.log.run(step -> {
            core.record.introduced(said, step);
            core.outbox.insist(
                    List.of(
                            new RecordChange.Negotiated(opened.revision(), initialize.bytes()),
                            core.record.extended(step)),
                    step);
        });
    }

    /**
     * A fresh backend is there, in the state of the one before.
     *
     * @param present whether it still is; asked under the lock
     */
    void replaced(BooleanSupplier present, OutboundMessage response) {
        core.host.telemetry.restored(core.id());
        Introduction said = core.host.messages.introduction(response.bytes());
        core.log.run(step -> {
            if (present.getAsBoolean() && another(said, step)) {
                step.then(() -> core.host.telemetry.backendChanged(core.id()));
            }
        });
    }

    private boolean another(Introduction said, Step step) {
        Introduction before = core.record.introduction();
        if (!said.known() || said.server() == before.server() || core.outbox.closed()) {
            return false;
        }
        core.record.introduced(before.known() ? new Introduction(said.server(), before.lists()) : said, step);
        core.outbox.whenOpen(step, this::keep);
        if (before.known()) {
            core.host.messages.listsChanged(before.lists()).forEach(message -> announce(message, step));
        }
        return before.known();
    }

    /** Adds the extension to the record, behind all other changes of it. */
    private void keep(Step now) {
        core.outbox.add(Pending.of(null, List.of(core.record.extended(now)), this::keep), now);
    }

    /** The session ends: what it still keeps counts no more for the node. */
    void leave() {
        core.log.run(step -> core.streams.stopCounting(step));
    }

    /** Ends the log, every stream and every call. */
    void close(EndReason reason) {
        core.log.run(step -> {
            core.outbox.close(step);
            for (LiveCall.Request request : core.requests.all()) {
                request.call.stream.tellAtEnd(core.finalErrors(List.of(request.id()), reason), step);
            }
            for (LiveStream stream : core.streams.all()) {
                if (core.leavesToStore(reason) && !stream.recorded()) {
                    // nobody is sent back to a stream that the store does not know
                    stream.reader().ifPresent(reader -> reader.refuse(step));
                }
                stream.seal(reason, step);
                stream.reader().ifPresent(reader -> Readers.wakeAtEnd(reader, reason, step));
                stream.empty(step);
            }
            core.requests.all().forEach(request -> lose(request, step));
        });
    }
}
