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
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;

/** How the requests of a session's client end: with an answer of the backend, with an error of the engine's own, or cancelled. */
final class CallEnding {
    static final int INTERNAL_ERROR = -32603;
    private static final String NOT_STORED = "the response could not be stored";

    private final SessionCore core;
    private final OwnMessages own;
    private String lastLoss = "";

    CallEnding(SessionCore core, OwnMessages own) {
        this.core = core;
        this.own = own;
    }

    /** By whom it says what is of its own. */
    OwnMessages own() {
        return own;
    }

    /** The answer to a request on its way into the log. */
    private final class Answer extends Pending {
        private final RequestSink sink;
        private final byte kind;
        private final OutboundMessage message;
        private final String otherwise;

        /**
         * @param otherwise what the client is told if the store does not have it
         */
        private Answer(KeptEvent event, RequestSink sink, OutboundMessage message, String otherwise) {
            super(event, changes(sink, event.event.kind()));
            this.sink = sink;
            this.kind = event.event.kind();
            this.message = message;
            this.otherwise = otherwise;
        }

        @Override
        public void committed(Step step) {
            sink.close();
            core.requests().end(sink);
            if (kind == EventKind.RESPONSE) {
                accepted(step);
            }
            if (sink.call().done()) {
                end(sink.call(), step);
            }
            CallWatch watch = sink.lastWatch();
            if (watch != CallWatch.NONE) {
                step.then(() -> watch.answered(message));
            }
        }

        /** The backend has accepted what the request says of its client. */
        private void accepted(Step step) {
            InboundMessage request = sink.request();
            core.journal().apply(request, step);
            if (!(request.journal() instanceof JournalChange.None)) {
                sink.call().host().accepted(request, sink.incarnation(), step);
            }
        }

        @Override
        public void refused(Step step) {
            sink.unanswer();
        }

        @Override
        public void again(Step step) {
            Throwable why = failure();
            if (why instanceof TooLargeException tooLarge) {
                fail(sink, tooLargeForStore(tooLarge), step);
            } else if (why instanceof StoreUnavailableException && why.getCause() instanceof TooLargeException) {
                own.whenOpen(step, open -> {
                    if (sink.open()) {
                        answer(sink, message, otherwise, open);
                    }
                });
            } else {
                fail(sink, otherwise, step);
            }
        }

        private String tooLargeForStore(TooLargeException why) {
            String most = why.limit().isPresent()
                    ? ", which takes at most " + why.limit().getAsLong() + " at once"
                    : "";
            return "the answer has " + message.bytes().length + " bytes, too many for the session store" + most;
        }
    }

    private static List<RecordChange> changes(RequestSink sink, byte kind) {
        List<RecordChange> journaled = kind == EventKind.RESPONSE ? Journal.changes(sink.request()) : List.of();
        RecordChange recorded = sink.call().recorded();
        if (journaled.isEmpty()) {
            return List.of(recorded);
        }
        List<RecordChange> both = new ArrayList<>(journaled);
        both.add(recorded);
        return both;
    }

    /**
     * The backend has answered a request; inside a step, while the log is open. An answer for which the session has no room ends the
     * request with an error, as it would end the session.
     */
    Pending answer(RequestSink sink, OutboundMessage answer, Step step) {
        if (core.streams().hasRoomFor(answer)) {
            return answer(sink, answer, NOT_STORED, step);
        }
        String cause = "the answer has " + answer.bytes().length + " bytes and finds no room: a session keeps at most "
                + core.streams().mostLargeBytes() + " bytes of which it does not know that its client has them";
        return answer(sink, core.host().messages().error(sink.id(), INTERNAL_ERROR, cause), cause, step);
    }

    /** The backend has answered a request while the log is not open; inside a step. */
    void loseAnswer(RequestSink sink, Step now) {
        own.whenOpen(now, step -> fail(sink, NOT_STORED, step));
    }

    private Pending answer(RequestSink sink, OutboundMessage answer, String otherwise, Step step) {
        KeptEvent event = core.streams().assign(sink.call().stream(), answer, step);
        sink.answer();
        Pending pending = new Answer(event, sink, answer, otherwise);
        core.outbox().add(pending, step);
        return pending;
    }

    /** Answers a request with an error, now or when the log goes on; inside a step. */
    void fail(RequestSink sink, String cause, Step now) {
        own.whenOpen(now, step -> {
            if (sink.open()) {
                answer(sink, core.host().messages().error(sink.id(), INTERNAL_ERROR, cause), cause, step);
            }
        });
    }

    /** The same outside of a step. */
    void failNow(RequestSink sink, String cause) {
        core.run(step -> fail(sink, cause, step));
    }

    /** Ends the calls that have run for too long: their clients get an error, their backend is told. Inside a step. */
    void timeOut(long now, Step step) {
        long limit = core.lifetime().callNanos();
        List<RequestSink> late = core.requests().overdue(call -> core.clock().passed(limit, call.startedAt(), now));
        for (RequestSink sink : late) {
            fail(
                    sink,
                    "the call took longer than " + TimeText.of(core.lifetime().call()),
                    step);
            sink.stop(step);
            step.then(() -> core.host().telemetry().timedOut(core.id()));
        }
    }

    /**
     * The backend is gone: what it asked is withdrawn, what it had in its hands is answered with an error. Inside a step, so that
     * nothing of its successor is hit.
     */
    void backendLost(String cause, Step step) {
        lastLoss = cause;
        List<KeptEvent> asked = core.requests().withdraw().stream()
                .map(OpenRequests.Question::node)
                .toList();
        core.streams().retention().settle(asked, step);
        asked.forEach(question -> own.withdraw(question, cause, step));
        if (core.host().joins()) {
            // who reads on another node would be asked what nobody waits for
            asked.stream()
                    .filter(question -> question.stream.listening())
                    .forEach(question -> core.streams().retention().forget(question, step));
        }
        for (RequestSink sink : core.requests().all()) {
            if (sink.losesBackend()) {
                fail(sink, cause, step);
            }
        }
    }

    /** An incarnation of the backend has been given a request; if it was lost meanwhile, the request ends with it. */
    void entered(RequestSink sink, int incarnation) {
        core.run(step -> {
            if (!sink.entered(incarnation)) {
                fail(sink, lastLoss, step);
            }
        });
    }

    /** An incarnation of the backend has thrown on a request; if that went back from it meanwhile, it goes on elsewhere. */
    void thrown(RequestSink sink, int incarnation) {
        core.run(now -> own.whenOpen(now, step -> {
            if (sink.incarnation() == incarnation) {
                fail(sink, "internal error", step);
            }
        }));
    }

    /**
     * Takes requests back that the backend has done nothing of; inside a step.
     *
     * @param which those of them that it can give back
     * @return those who need another backend for them, one for each call
     */
    List<CallDispatch> untouched(List<InboundMessage> requests, Predicate<RequestSink> which) {
        // several may have equal ids: a request is known by the object that its own id is
        IdentityHashMap<RequestId, InboundMessage> given = new IdentityHashMap<>();
        requests.forEach(request -> given.put(request.requiredId(), request));
        Set<LiveCall> again = new LinkedHashSet<>();
        for (RequestSink sink : core.requests().all()) {
            InboundMessage request = given.get(sink.id());
            if (request != null && which.test(sink) && sink.giveBack(request)) {
                again.add(sink.call());
            }
        }
        return again.stream()
                .map(call -> new CallDispatch(core, this, call, Runnable::run))
                .toList();
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
                .filter(sink -> which.test(sink.call()))
                .forEach(sink -> fail(sink, cause, step)));
    }

    /** The log is closed: a request without an answer in it will not get one; inside a step. */
    void lose(RequestSink sink, Step step) {
        sink.close();
        core.requests().end(sink);
        CallWatch watch = sink.lastWatch();
        if (watch != CallWatch.NONE) {
            step.then(watch::lost);
        }
        end(sink.call(), step);
    }

    /** A call is over; inside a step. Whoever calls this wakes its reader. */
    void end(LiveCall call, Step step) {
        if (!call.end()) {
            return;
        }
        LiveStream stream = call.stream();
        if (stream.listening()) {
            core.requests()
                    .askedFor(call)
                    .forEach(question -> core.streams().retention().leave(question, step));
        } else {
            stream.end(call.reason(), step);
        }
        long now = core.now();
        core.lifecycle().callEnded(now);
        core.host().running(core.principal(), -call.sinks().size());
        if (stream.reader().isEmpty() && call.reason() == EndReason.CANCELLED) {
            core.streams().finish(stream, now, step);
        }
    }
}
