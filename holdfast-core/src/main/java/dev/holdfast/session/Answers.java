package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.Step;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.TooLargeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * How the requests of a session's client end: with an answer of the backend, with an error of the engine's own, or without either; and
 * what else the engine itself tells the client.
 */
final class Answers {
    private static final String NOT_STORED = "the response could not be stored";

    private final SessionCore core;
    /** Why the latest backend is gone. */
    private String lastLoss = "";

    Answers(SessionCore core) {
        this.core = core;
    }

    /**
     * The backend has answered a request, while the log is open. An answer for which the session has no room ends the request with an
     * error, as it would end the session.
     */
    Pending answer(CallRequest request, OutboundMessage answer, Step step) {
        if (core.streams().hasRoomFor(answer)) {
            return answer(request, answer, NOT_STORED, step);
        }
        String cause = "the answer has " + answer.bytes().length + " bytes and finds no room: a session keeps at most "
                + core.streams().mostLargeBytes() + " bytes of which it does not know that its client has them";
        return answer(request, error(request, cause), cause, step);
    }

    /** The backend has answered a request while the log is not open. */
    void loseAnswer(CallRequest request, Step now) {
        core.outbox().whenOpen(now, step -> fail(request, NOT_STORED, step));
    }

    private Pending answer(CallRequest request, OutboundMessage answer, String otherwise, Step step) {
        KeptEvent event = core.streams().assign(request.call().stream(), answer, step);
        request.answer(step);
        Pending pending = new Answer(event, request, answer, otherwise);
        core.outbox().add(pending, step);
        return pending;
    }

    private OutboundMessage error(CallRequest request, String cause) {
        return core.host().messages().error(request.id(), SessionCore.INTERNAL_ERROR, cause);
    }

    /** The answer to a request on its way into the log. */
    private final class Answer extends Pending {
        private final CallRequest request;
        private final OutboundMessage message;
        private final String otherwise;

        /**
         * @param otherwise what the client is told if the store does not have it
         */
        private Answer(KeptEvent event, CallRequest request, OutboundMessage message, String otherwise) {
            super(event, changes(request, message.kind()));
            this.request = request;
            this.message = message;
            this.otherwise = otherwise;
        }

        @Override
        public void committed(Step step) {
            request.close(step);
            core.requests().end(request, step);
            if (message.kind() == EventKind.RESPONSE) {
                accepted(step);
            }
            if (request.call().done()) {
                end(request.call(), step);
            }
            CallWatch watch = request.lastWatch(step);
            if (watch != CallWatch.NONE) {
                step.then(() -> watch.answered(message));
            }
        }

        /** The backend has accepted what the request says of its client. */
        private void accepted(Step step) {
            InboundMessage accepted = request.message();
            core.journal().apply(accepted, step);
            if (!(accepted.journal() instanceof JournalChange.None)) {
                core.owner().accepted(accepted, request.incarnation(), step);
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
                core.outbox().whenOpen(step, open -> {
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

    private static List<RecordChange> changes(CallRequest request, byte kind) {
        List<RecordChange> journaled = kind == EventKind.RESPONSE ? Journal.changes(request.message()) : List.of();
        RecordChange recorded = request.call().recorded();
        if (journaled.isEmpty()) {
            return List.of(recorded);
        }
        List<RecordChange> both = new ArrayList<>(journaled);
        both.add(recorded);
        return both;
    }

    /** Answers a request with an error, now or when the log goes on. */
    void fail(CallRequest request, String cause, Step now) {
        core.outbox().whenOpen(now, step -> {
            if (request.open()) {
                answer(request, error(request, cause), cause, step);
            }
        });
    }

    void failNow(CallRequest request, String cause) {
        core.run(step -> fail(request, cause, step));
    }

    /**
     * The backend is gone: what it asked is withdrawn, what it had in its hands is answered with an error, in one step, so that
     * nothing of its successor is hit.
     */
    void backendLost(String cause, Step step) {
        lastLoss = cause;
        List<KeptEvent> asked = core.requests().withdraw(step).stream()
                .map(OpenRequests.Question::node)
                .toList();
        core.streams().retention().settle(asked, step);
        asked.forEach(question -> withdraw(question, cause, step));
        core.host().cluster().withdrawn(asked, core.streams(), step);
        for (CallRequest request : core.requests().all()) {
            if (request.losesBackend(step)) {
                fail(request, cause, step);
            }
        }
    }

    /** An incarnation of the backend has been given a request; if it was lost meanwhile, the request ends with it. */
    void entered(CallRequest request, int incarnation) {
        core.run(step -> {
            if (!request.entered(incarnation, step)) {
                fail(request, lastLoss, step);
            }
        });
    }

    /** An incarnation of the backend has thrown on a request; if that went back from it meanwhile, it goes on elsewhere. */
    void thrown(CallRequest request, int incarnation) {
        core.run(now -> core.outbox().whenOpen(now, step -> {
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
        return core.log().settledUnlessStuck();
    }

    /** Answers those calls with an error that nobody can run again. Completes when what is on its way is committed. */
    CompletionStage<Void> failUnrepeatable(String cause) {
        failRunning(cause, call -> !call.rerunnable());
        return core.log().settled();
    }

    private void failRunning(String cause, Predicate<LiveCall> which) {
        core.run(step -> core.requests().all().stream()
                .filter(request -> which.test(request.call()))
                .forEach(request -> fail(request, cause, step)));
    }

    /** Tells the client that nobody waits for its answer to a question. */
    void withdraw(KeptEvent question, String cause, Step now) {
        core.outbox().whenOpen(now, step -> {
            RequestId asked = question.event.id();
            boolean heard = question.kept && question.event.kind() != EventKind.PING;
            if (asked != null && heard) {
                OutboundMessage message = core.host().messages().cancelled(asked, cause);
                tell(question.stream, message, step, again -> withdraw(question, cause, again));
            }
        });
    }

    /** Tells something to whoever listens. */
    void announce(OutboundMessage message, Step now) {
        core.outbox()
                .whenOpen(
                        now,
                        step -> tell(core.streams().listening(), message, step, again -> announce(message, again)));
    }

    private void tell(LiveStream stream, OutboundMessage message, Step now, Consumer<Step> again) {
        if (stream.ended().isEmpty()) {
            Pending pending = new Pending(core.streams().assign(stream, message, now), List.of()) {
                @Override
                public void again(Step step) {
                    again.accept(step);
                }
            };
            core.outbox().add(pending, now);
        }
    }

    /** The log is closed: a request without an answer in it will not get one. */
    void lose(CallRequest request, Step step) {
        request.close(step);
        core.requests().end(request, step);
        CallWatch watch = request.lastWatch(step);
        if (watch != CallWatch.NONE) {
            step.then(watch::lost);
        }
        end(request.call(), step);
    }

    /** A call is over. Whoever calls this wakes its reader. */
    void end(LiveCall call, Step step) {
        if (!call.end(step)) {
            return;
        }
        LiveStream stream = call.stream();
        if (stream.listening()) {
            core.requests()
                    .askedFor(call)
                    .forEach(asked -> core.streams().retention().abandon(asked, step));
        } else {
            stream.end(call.reason(), step);
        }
        long now = core.now();
        core.lifecycle().callEnded(now);
        core.host().running(core.principal(), -call.requests().size());
        if (stream.reader().isEmpty() && call.reason() == EndReason.CANCELLED) {
            core.streams().finish(stream, now, step);
        }
    }
}
