package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.Refusal;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.StreamReader;
import dev.holdfast.log.LiveReader;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.Step;
import dev.holdfast.session.Lifecycle.Move;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/** How the calls of a session's client begin, and how they are cancelled by it. */
final class CallStart {
    /** The stream of a call gets the next number of its session. */
    private static final long NEXT_NUMBER = 0;

    private final SessionCore core;
    private final Readers readers;
    private final CallEnding ending;
    private final BackendSlot backend;
    private final LiveCall.Host callHost;

    CallStart(SessionCore core, Readers readers, CallEnding ending, BackendSlot backend, LiveCall.Host callHost) {
        this.core = core;
        this.readers = readers;
        this.ending = ending;
        this.backend = backend;
        this.callHost = callHost;
    }

    /**
     * Opens a call. Where its stream is its own, the store works and no other node shares it, the call runs at once, and its start
     * is stored with its first message; else it runs when the store has its start.
     */
    CompletionStage<Call.Outcome> call(List<InboundMessage> messages) {
        return call(messages, NEXT_NUMBER, () -> core.requests().heard(messages), Optional.empty());
    }

    /** Opens a call of another node, whose stream gets a number that no other one has. */
    CompletionStage<Call.Outcome> call(List<InboundMessage> messages, long number, List<Long> behind) {
        return call(messages, number, () -> behind, Optional.empty());
    }

    /** Opens a call that was on its way until now. */
    CompletionStage<Call.Outcome> call(CallOnItsWay arriving) {
        return call(arriving.requests(), NEXT_NUMBER, arriving::behind, Optional.of(arriving));
    }

    private CompletionStage<Call.Outcome> call(
            List<InboundMessage> messages, long number, Supplier<List<Long>> behind, Optional<CallOnItsWay> arriving) {
        byte[] extension = harmless(messages) ? Rerun.first(messages.get(0)) : SessionRecord.NO_EXTENSION;
        Supplier<CompletionStage<Call.Outcome>> outcome = core.step(step -> {
            arriving.ifPresent(CallOnItsWay::arrive);
            Optional<Call.Outcome> refusal = refusal(messages);
            if (refusal.isPresent()) {
                return () -> CompletableFuture.completedFuture(refusal.get());
            }
            if (!core.outbox().open() || core.host().store().trouble().isPresent()) {
                return () -> CompletableFuture.failedFuture(new StoreUnavailableException(null));
            }
            long now = core.now();
            Move move = core.lifecycle().callStarted(now);
            if (move.leavesClosed()) {
                step.then(() -> core.alive(move));
                return () -> CompletableFuture.completedFuture(new Call.Closed(core.ended()));
            }
            Supplier<CompletionStage<Call.Outcome>> begun = begin(messages, number, behind.get(), extension, now, step);
            arriving.ifPresent(call ->
                    call.cancellations().forEach(by -> cancelInFlight(by.of(Cancellation.ANY), step)));
            return begun;
        });
        return outcome.get();
    }

    private Supplier<CompletionStage<Call.Outcome>> begin(
            List<InboundMessage> messages, long number, List<Long> behind, byte[] extension, long now, Step step) {
        core.host().running(core.principal(), messages.size());
        List<RequestId> ids = messages.size() == 1
                ? List.of(messages.get(0).requiredId())
                : messages.stream().map(InboundMessage::requiredId).toList();
        LiveCall call = create(messages, ids, number, now, step);
        call.comesBehind(behind);
        if (extension.length > 0) {
            call.mayBeRerun(step);
        }
        core.requests().start(call);
        RecordChange change = new RecordChange.CallStarted(call.id(), ids, extension);
        boolean prompt = call.liveReader().isPresent()
                && !core.host().shared()
                && core.host().storeWorks()
                && core.outbox().answered();
        Start start = new Start(call, change, prompt);
        if (prompt) {
            core.outbox().addLazily(start, step);
            Call.Outcome outcome = attached(call, step);
            return () -> CompletableFuture.completedFuture(outcome);
        }
        core.outbox().add(start, step);
        return () -> stored(start);
    }

    private CompletionStage<Call.Outcome> stored(Start start) {
        return core.log().stageOf(start).handle((done, failure) -> {
            if (failure != null) {
                core.run(step -> dismissed(start, step));
                if (start.failure() instanceof TooLargeException) {
                    return new Call.Refused(Refusal.BODY_SIZE);
                }
                throw new StoreUnavailableException(failure);
            }
            return core.step(step -> attached(start.call, step));
        });
    }

    /** The start of a call on its way into the log. */
    private final class Start extends Pending {
        private final LiveCall call;
        private final RecordChange change;
        private final boolean runs;

        /**
         * @param runs whether the call runs already: then the store has its start sooner or later, unless the call has ended by then
         */
        private Start(LiveCall call, RecordChange change, boolean runs) {
            super(null, List.of(change));
            this.call = call;
            this.change = change;
            this.runs = runs;
        }

        @Override
        public boolean begins() {
            return true;
        }

        @Override
        public boolean awaited() {
            return !runs;
        }

        @Override
        public void committed(Step step) {
            // one that was refused meanwhile stays so
            if (!call.stream().recorded() && !call.ended()) {
                call.stream().record(step);
                call.stream().reader().ifPresent(step::then);
            }
        }

        @Override
        public void again(Step step) {
            if (!runs) {
                notStarted(call, step);
            } else if (!call.done()) {
                core.outbox().add(new Start(call, change, true), step);
            }
        }
    }

    /** Whether a call may be run again after a death of this process. */
    private boolean harmless(List<InboundMessage> messages) {
        return core.reruns()
                && messages.size() == 1
                && !LiveCall.initializes(messages.get(0))
                && core.host().backend().mayBeRerun(messages.get(0), core.principal());
    }

    private LiveCall create(List<InboundMessage> messages, List<RequestId> ids, long number, long now, Step step) {
        StreamId id = number == NEXT_NUMBER
                ? core.streams().nextId(step)
                : core.streams().id(number);
        if (core.listensOnly()) {
            return LiveCall.unread(id, core.streams().listening(), callHost, messages, now);
        }
        LiveReader reader = LiveReader.first(readers, core.log(), LiveStream.begun(id, ids));
        return LiveCall.reading(reader, callHost, messages, now);
    }

    private Optional<Call.Outcome> refusal(List<InboundMessage> messages) {
        if (core.host().draining()) {
            return Optional.of(new Call.Refused(Refusal.DRAINING));
        }
        if (core.lifecycle().state().closed()) {
            return Optional.of(new Call.Closed(core.ended()));
        }
        Optional<RequestId> duplicate = core.duplicate(messages);
        if (duplicate.isPresent()) {
            return duplicate.map(Call.Duplicate::new);
        }
        if (tooLong(messages)) {
            return Optional.of(new Call.Refused(Refusal.BODY_SIZE));
        }
        if (!core.journal().hasRoom(messages)) {
            return Optional.of(new Call.Refused(Refusal.JOURNAL));
        }
        return core.noRoomFor(messages.size()).map(Call.Refused::new);
    }

    private static boolean tooLong(List<InboundMessage> messages) {
        for (InboundMessage request : messages) {
            if (request.bytes().length > Journal.MOST_INITIALIZE_BYTES && LiveCall.initializes(request)) {
                return true;
            }
        }
        return false;
    }

    /** Lets the client of a call read its stream, where it has one of its own. */
    private Call.Outcome attached(LiveCall call, Step step) {
        Optional<LiveReader> reader = call.liveReader();
        boolean attached;
        if (reader.isPresent()) {
            core.streams().open(reader.get().stream(), step);
            attached = readers.attach(reader.get(), step);
        } else {
            attached = !core.lifecycle().state().closed();
        }
        return attached ? new Call.Accepted(call) : new Call.Closed(core.ended());
    }

    /** Hands a call that was started to the backend, by one task on an executor; one of which nothing is wanted needs none. */
    void dispatch(LiveCall call, Executor caller) {
        CallDispatch dispatch = new CallDispatch(core, ending, call, caller);
        if (core.look(call::answered)) {
            dispatch.dropped();
        } else {
            backend.use(dispatch);
        }
    }

    /**
     * The store has decided nothing for some seconds: no client waits any longer for a call to start. One that runs already is given up.
     * Inside a step.
     */
    void refuseUnstarted(Step step) {
        core.outbox().dismissClients(new StoreUnavailableException(null), step);
        for (RequestSink sink : core.requests().all()) {
            LiveCall call = sink.call();
            Optional<LiveReader> reader =
                    call.liveReader().filter(own -> call.stream().reader().isPresent());
            if (reader.isPresent() && !call.stream().recorded()) {
                reader.get().refuse(step);
                step.then(reader.get());
                sink.stop(step);
                ending.lose(sink, step);
                ending.own()
                        .whenOpen(
                                step,
                                open -> core.outbox().insist(List.of(new RecordChange.CallEnded(call.id())), open));
            }
        }
    }

    /** Nobody waits any longer for the call to start. If the store should have it after all, it has ended. */
    private void dismissed(Start start, Step step) {
        notStarted(start.call, step);
        if (start.failure() == null && !core.outbox().closed()) {
            core.outbox().insist(List.of(new RecordChange.CallEnded(start.call.id())), step);
        }
    }

    /**
     * A call that was taken is not dispatched after all, and its client will not read it. False if it has ended already, or has an
     * answer on its way into the log: then its client reads that.
     */
    boolean callOff(LiveCall call) {
        boolean calledOff = core.step(step -> {
            boolean unanswered = call.unanswered();
            if (unanswered) {
                notStarted(call, step);
                core.outbox().insist(List.of(new RecordChange.CallEnded(call.id())), step);
            }
            return unanswered;
        });
        call.reader().filter(reader -> calledOff).ifPresent(reader -> reader.close(StreamReader.Close.IN_ORDER));
        return calledOff;
    }

    /** Nothing of the call runs. */
    private void notStarted(LiveCall call, Step step) {
        call.sinks().forEach(sink -> {
            sink.close();
            core.requests().end(sink);
        });
        core.streams().abandon(call.stream(), step);
        ending.end(call, step);
    }

    /**
     * The client cancels a request, on its way or in the hands of the backend.
     *
     * @return the number by which other nodes know its call, {@link Cancellation#ANY} where none does; empty if no request is found
     */
    OptionalLong cancel(Cancellation cancellation) {
        return core.step(step -> {
            if (core.requests().isFollowed(cancellation)) {
                return OptionalLong.of(Cancellation.ANY);
            }
            Optional<CallOnItsWay> onItsWay = core.requests().cancelOnItsWay(cancellation);
            return onItsWay.isPresent() ? OptionalLong.of(onItsWay.get().number()) : cancelInFlight(cancellation, step);
        });
    }

    private OptionalLong cancelInFlight(Cancellation cancellation, Step step) {
        Optional<RequestSink> found = core.requests().meant(cancellation);
        if (found.isEmpty()) {
            return OptionalLong.empty();
        }
        RequestSink sink = found.get();
        sink.cancel(Optional.of(cancellation.notification()), step);
        core.requests().hear(cancellation, true);
        cancelled(sink, step);
        return OptionalLong.of(sink.call().numberElsewhere());
    }

    private void cancelled(RequestSink sink, Step step) {
        LiveCall call = sink.call();
        core.requests().end(sink);
        if (call.answered()) {
            core.outbox().insist(List.of(new RecordChange.CallEnded(call.id())), step);
        }
        if (call.done()) {
            ending.end(call, step);
            call.stream().reader().ifPresent(step::then);
        }
    }
}
