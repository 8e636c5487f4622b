package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.CallWatch;
import dev.holdfast.Refusal;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.StreamReader;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.Step;
import dev.holdfast.log.StreamCursor;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The calls of a session's client: how they begin, come into the hands of the backend, and are given up by the client or by time. */
final class Calls {
    private static final Logger logger = LoggerFactory.getLogger(Calls.class);
    private static final String WATCH_FAILED = "what follows a call failed";
    /** The stream of a call gets the next number of its session. */
    static final long NEXT_NUMBER = 0;

    private final SessionCore core;
    private final Outbound outbound;
    private final Readers readers;

    Calls(SessionCore core, Outbound outbound, Readers readers) {
        this.core = core;
        this.outbound = outbound;
        this.readers = readers;
    }

    /**
     * Opens a call. Where its stream is its own, the store works, and no other node waits to hear that it was taken, the call runs at
     * once, and its start is stored with its first message; else it runs when the store has its start.
     *
     * @param number that of its stream, which no other one has, if it came in on another node; else {@link #NEXT_NUMBER}
     * @param behind the cancellations that had come before it, where it came in; empty where it comes in now
     * @param arriving the same call, if it was on its way until now
     */
    CompletionStage<Call.Outcome> call(
            List<InboundMessage> messages, long number, Optional<List<Long>> behind, Optional<CallOnItsWay> arriving) {
        Optional<Rerun> rerun = harmless(messages) ? Optional.of(Rerun.first(messages.get(0))) : Optional.empty();
        byte[] extension = rerun.map(Rerun::pack).orElse(SessionRecord.NO_EXTENSION);
        Supplier<CompletionStage<Call.Outcome>> outcome = core.log.step(step -> {
            arriving.ifPresent(call -> call.arrive(step));
            Optional<Call.Outcome> refusal = refusal(messages);
            if (refusal.isPresent()) {
                return () -> CompletableFuture.completedFuture(refusal.get());
            }
            if (!core.outbox.open() || core.host.store().trouble().isPresent()) {
                return () -> CompletableFuture.failedFuture(new StoreUnavailableException(null));
            }
            boolean prompt =
                    !core.listensOnly && number == NEXT_NUMBER && core.host.storeWorks() && core.outbox.answered();
            long now = core.clock.now();
            Lifecycle.Move move = prompt ? core.lifecycle.callAttached(now) : core.lifecycle.callStarted(now);
            if (!core.alive(move, step)) {
                return () -> CompletableFuture.completedFuture(new Call.Closed(core.ended()));
            }
            List<RequestId> ids = ids(messages);
            LiveCall call = create(messages, number, now, step);
            call.behind = behind.orElseGet(() -> core.requests.heard(messages));
            core.host.running.add(core.principal, messages.size());
            rerun.ifPresent(kept -> call.mayBeRerun(kept, step));
            core.requests.start(call, step);
            Start start = new Start(call, new RecordChange.CallStarted(call.id, ids, extension), prompt);
            if (prompt) {
                core.outbox.addLazily(start, step);
                readers.begin(Objects.requireNonNull(call.cursor), step);
            } else {
                core.outbox.add(start, step);
            }
            arriving.ifPresent(on -> on.cancellations().forEach(by -> cancelInFlight(by.of(Cancellation.ANY), step)));
            return prompt ? () -> CompletableFuture.completedFuture(new Call.Accepted(call)) : () -> stored(start);
        });
        return outcome.get();
    }

    /** Whether a call may be run again after a death of this process. */
    private boolean harmless(List<InboundMessage> messages) {
        return core.reruns()
                && messages.size() == 1
                && !LiveCall.initializes(messages.get(0))
                && core.host.backend.mayBeRerun(messages.get(0), core.principal);
    }

    private Optional<Call.Outcome> refusal(List<InboundMessage> messages) {
        if (core.host.draining()) {
            return Optional.of(new Call.Refused(Refusal.DRAINING));
        }
        if (core.lifecycle.closed()) {
            return Optional.of(new Call.Closed(core.ended()));
        }
        Optional<RequestId> duplicate = core.duplicate(messages);
        if (duplicate.isPresent()) {
            return duplicate.map(Call.Duplicate::new);
        }
        for (InboundMessage message : messages) {
            if (message.bytes().length > Journal.MOST_INITIALIZE_BYTES && LiveCall.initializes(message)) {
                return Optional.of(new Call.Refused(Refusal.BODY_SIZE));
            }
        }
        if (!core.journal.hasRoom(messages)) {
            return Optional.of(new Call.Refused(Refusal.JOURNAL));
        }
        return core.noRoomFor(messages.size()).map(Call.Refused::new);
    }

    private LiveCall create(List<InboundMessage> messages, long number, long now, Step step) {
        StreamId id = number == NEXT_NUMBER ? core.streams.nextId(step) : core.streams.id(number);
        if (core.listensOnly) {
            return new LiveCall(core, id, core.streams.listening(), null, messages, now);
        }
        StreamCursor cursor = StreamCursor.first(readers, core.log, LiveStream.begun(id));
        return new LiveCall(core, id, cursor.stream(), cursor, messages, now);
    }

    private static List<RequestId> ids(List<InboundMessage> messages) {
        return messages.size() == 1
                ? List.of(messages.get(0).requiredId())
                : messages.stream().map(InboundMessage::requiredId).toList();
    }

    private CompletionStage<Call.Outcome> stored(Start start) {
        return core.log.stageOf(start).handle((done, failure) -> {
            if (failure != null) {
                core.log.run(step -> dismissed(start, step));
                if (start.failure() instanceof TooLargeException) {
                    return new Call.Refused(Refusal.BODY_SIZE);
                }
                throw new StoreUnavailableException(failure);
            }
            return core.log.step(step -> attached(start.call, step));
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
            if (!call.stream.recorded() && !call.ended()) {
                call.stream.record(step);
                call.stream.reader().ifPresent(step::then);
            }
        }

        /** A request that is too large to be kept is not run again, should it come to that. */
        @Override
        public void again(Step step) {
            if (!runs) {
                notStarted(call, step);
            } else if (failure() instanceof TooLargeException && !call.rerunnable()) {
                giveUp(call, step);
            } else if (!call.done()) {
                boolean tooLarge = failure() instanceof TooLargeException;
                if (tooLarge) {
                    call.isNotRerun(step);
                }
                // the store knows of its stream before anything names that
                core.outbox.addFirst(new Start(call, tooLarge ? call.recorded() : change, true), step);
            }
        }
    }

    /** Lets the client of a call read its stream, where it has one of its own. */
    private Call.Outcome attached(LiveCall call, Step step) {
        StreamCursor cursor = call.cursor;
        if (cursor != null) {
            core.streams.open(call.stream, step);
        }
        boolean attached = cursor != null ? readers.attach(cursor, step) : !core.lifecycle.closed();
        return attached ? new Call.Accepted(call) : new Call.Closed(core.ended());
    }

    /**
     * The store has decided nothing for some seconds: no client waits any longer for a call to start. One that runs already is given up.
     *
     * @param cause how the store fails, if it says anything
     */
    void refuseUnstarted(@Nullable Throwable cause, Step step) {
        core.outbox.dismissClients(new StoreUnavailableException(cause), step);
        core.requests.all().stream()
                .map(request -> request.call)
                .distinct()
                .filter(call -> call.stream.reader().isPresent() && !call.stream.recorded())
                .forEach(call -> giveUp(call, step));
    }

    /** The client of a call that runs is told that it does not start: it has heard nothing of it. */
    private void giveUp(LiveCall call, Step step) {
        StreamCursor cursor = call.cursor;
        if (cursor == null) {
            return;
        }
        cursor.refuse(step);
        step.then(cursor);
        for (LiveCall.Request request : call.requests) {
            if (!request.over()) {
                request.stop(step);
                outbound.lose(request, step);
            }
        }
        core.outbox.whenOpen(step, open -> outbound.forgetInStore(call, open));
    }

    /** Nobody waits any longer for the call to start. If the store should have it after all, it has ended. */
    private void dismissed(Start start, Step step) {
        notStarted(start.call, step);
        if (start.failure() == null && !core.outbox.closed()) {
            outbound.forgetInStore(start.call, step);
        }
    }

    /**
     * A call that was taken is not dispatched after all, and its client will not read it. False if it has ended already, or has an
     * answer on its way into the log: then its client reads that.
     */
    boolean callOff(LiveCall call) {
        boolean calledOff = core.log.step(step -> {
            boolean unanswered = call.unanswered();
            if (unanswered) {
                notStarted(call, step);
                outbound.forgetInStore(call, step);
            }
            return unanswered;
        });
        call.reader().filter(reader -> calledOff).ifPresent(reader -> reader.close(StreamReader.Close.IN_ORDER));
        return calledOff;
    }

    private void notStarted(LiveCall call, Step step) {
        call.requests.forEach(request -> {
            request.close(step);
            core.requests.end(request, step);
        });
        core.streams.abandon(call.stream, step);
        outbound.end(call, step);
    }

    /** Brings a call that was started to the backend, by one task on an executor. */
    BackendUser dispatch(LiveCall call, Executor caller) {
        return new Dispatch(call, caller, watches(call));
    }

    /** Lets others follow an {@code initialize}, which opens the backend. */
    void follow(LiveCall call) {
        List<CallWatch> watches = watches(call);
        core.log.run(step -> follow(call, watches, step));
    }

    /** Asks who follows the requests of a call from now on; returns them in the order of these. */
    private List<CallWatch> watches(LiveCall call) {
        List<CallWatch> watches = new ArrayList<>(call.requests.size());
        for (LiveCall.Request request : call.requests) {
            CallWatch watch = core.watch(request.message(), call.again());
            watches.add(watch);
            if (watch != CallWatch.NONE && call.cursor != null) {
                try {
                    watch.attached(CallWatch.Attachment.STARTED);
                } catch (Throwable e) {
                    logger.error(WATCH_FAILED, e);
                }
            }
        }
        return watches;
    }

    /** A watch that comes after the end of its request hears of that end. */
    private static void follow(LiveCall call, List<CallWatch> watches, Step step) {
        for (int i = 0; i < watches.size(); i++) {
            LiveCall.Request request = call.requests.get(i);
            CallWatch watch = watches.get(i);
            if (watch != CallWatch.NONE && !request.follow(watch, step)) {
                step.then(request.cancelled() ? watch::cancelled : watch::lost);
            }
        }
    }

    /** Hands the requests of a call to the backend; those that were cancelled or answered meanwhile stay here. */
    private final class Dispatch implements BackendUser {
        private final LiveCall call;
        private final Executor caller;
        private final List<CallWatch> watches;
        private List<LiveCall.Held> handed = List.of();

        private Dispatch(LiveCall call, Executor caller, List<CallWatch> watches) {
            this.call = call;
            this.caller = caller;
            this.watches = watches;
        }

        @Override
        public void comes(Step step) {
            follow(call, watches, step);
        }

        @Override
        public boolean wanted(Step step) {
            return !call.answered() || call.waitsOn();
        }

        @Override
        public boolean waitsOn() {
            return call.waitsOn();
        }

        @Override
        public long bytes() {
            return call.requests.stream()
                    .mapToLong(request -> request.message().bytes().length)
                    .sum();
        }

        @Override
        public Object context() {
            return call.requests.get(0).message().context();
        }

        @Override
        public void handedTo(int incarnation, Step step) {
            handed = call.hand(incarnation, step);
        }

        @Override
        public void use(BackendConnection connection) {
            caller.execute(() -> {
                for (LiveCall.Held each : handed) {
                    // what goes on elsewhere has to hear that it was given up
                    if (each.request.open() || call.goesOn()) {
                        start(connection, each);
                    }
                }
            });
        }

        private void start(BackendConnection connection, LiveCall.Held held) {
            LiveCall.Request request = held.request;
            InboundMessage message = held.takeMessage();
            CallWatch.Scope current = enter(held.watch);
            try {
                connection.call(message, held);
                if (request.entering()) {
                    outbound.entered(request, held.incarnation);
                }
            } catch (Throwable e) {
                logger.error("session {}: the backend failed on {}", core.shortId(), message.method(), e);
                outbound.thrown(request, held.incarnation);
            } finally {
                leave(current);
                // an interrupt that its handler leaves behind is not for what comes next on this thread
                boolean unused = Thread.interrupted();
            }
        }

        private CallWatch.Scope enter(CallWatch watch) {
            try {
                return watch.enter();
            } catch (Throwable e) {
                logger.error(WATCH_FAILED, e);
                return CallWatch.Scope.NONE;
            }
        }

        private void leave(CallWatch.Scope current) {
            try {
                current.close();
            } catch (Throwable e) {
                logger.error(WATCH_FAILED, e);
            }
        }

        @Override
        public void refused(String cause) {
            outbound.refuse(call, cause);
            dropped();
        }

        @Override
        public void dropped() {
            caller.execute(() -> {});
        }
    }

    /**
     * The client cancels a request, on its way or in the hands of the backend.
     *
     * @return the number by which other nodes know its call, {@link Cancellation#ANY} where none does; empty if no request is found
     */
    OptionalLong cancel(Cancellation cancellation) {
        return core.log.step(step -> {
            if (core.requests.isFollowed(cancellation)) {
                return OptionalLong.of(Cancellation.ANY);
            }
            Optional<CallOnItsWay> onItsWay = core.requests.cancelOnItsWay(cancellation, step);
            return onItsWay.isPresent() ? OptionalLong.of(onItsWay.get().number()) : cancelInFlight(cancellation, step);
        });
    }

    private OptionalLong cancelInFlight(Cancellation cancellation, Step step) {
        Optional<LiveCall.Request> found = core.requests.meant(cancellation);
        if (found.isEmpty()) {
            return OptionalLong.empty();
        }
        LiveCall.Request request = found.get();
        outbound.cancel(request, cancellation.notification(), step);
        core.requests.hear(cancellation, true, step);
        return OptionalLong.of(request.call.numberElsewhere());
    }

    /** Ends the calls that have run for too long: their clients get an error, their backend is told. */
    void timeOut(long now, Step step) {
        long limit = core.lifetime.callNanos();
        List<LiveCall.Request> late = core.requests.overdue(call -> core.clock.passed(limit, call.startedAt, now));
        for (LiveCall.Request request : late) {
            outbound.fail(request, "the call took longer than " + EngineClock.text(core.lifetime.call()), step);
            request.stop(step);
            step.then(() -> core.host.telemetry.timedOut(core.id()));
        }
    }

    /**
     * Takes requests back that the backend has done nothing of.
     *
     * @param which those of them that it can give back
     * @return those who need another backend for them, one for each call
     */
    List<BackendUser> untouched(List<InboundMessage> messages, Predicate<LiveCall.Request> which, Step step) {
        // several may have equal ids: a request is known by the object that its own id is
        IdentityHashMap<RequestId, InboundMessage> given = new IdentityHashMap<>();
        messages.forEach(message -> given.put(message.requiredId(), message));
        Set<LiveCall> again = new LinkedHashSet<>();
        for (LiveCall.Request request : core.requests.all()) {
            InboundMessage message = given.get(request.id());
            if (message != null && which.test(request) && request.giveBack(message, step)) {
                again.add(request.call);
            }
        }
        return again.stream()
                .<BackendUser>map(call -> new Dispatch(call, Runnable::run, List.of()))
                .toList();
    }
}
