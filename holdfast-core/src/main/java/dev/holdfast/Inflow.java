package dev.holdfast;

import dev.holdfast.Lifecycle.Move;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a session's client sends: calls, notifications, answers and cancellations, on their way to the backend. */
final class Inflow {
    private static final Logger logger = LoggerFactory.getLogger(Inflow.class);

    private static final CompletionStage<Optional<Refusal>> TAKEN = CompletableFuture.completedFuture(Optional.empty());

    private final LiveSession session;
    private final SessionEngine engine;
    private final CallTable calls;
    private final Journal journal;
    private final BackendSlot backend;
    private final Outflow outflow;
    /** Whether the session outlives this process. */
    private final boolean outlives;

    private final SessionLog log;
    private final StreamTable streams;

    Inflow(
            LiveSession session,
            SessionEngine engine,
            CallTable calls,
            Journal journal,
            BackendSlot backend,
            Outflow outflow,
            boolean outlives) {
        this.session = session;
        this.engine = engine;
        this.calls = calls;
        this.journal = journal;
        this.backend = backend;
        this.outlives = outlives;
        this.outflow = outflow;
        this.log = outflow.log();
        this.streams = outflow.streams();
    }

    CompletionStage<Call.Outcome> call(List<InboundMessage> requests) {
        byte[] extension = Rerun.first(requests, harmless(requests));
        Effects effects = new Effects();
        LiveCall call;
        Entry entry;
        boolean prompt;
        session.lock();
        try {
            Optional<Call.Outcome> refusal = refusal(requests);
            if (refusal.isPresent()) {
                return CompletableFuture.completedFuture(refusal.get());
            }
            if (!log.open()) {
                return CompletableFuture.failedFuture(new StoreUnavailableException(null));
            }
            Move move = session.lifecycle().callStarted(engine.now());
            if (move.leavesClosed()) {
                effects.add(() -> session.alive(move));
                return CompletableFuture.completedFuture(new Call.Closed(session.ended()));
            }
            engine.callStarted(requests.size());
            List<RequestId> ids =
                    requests.stream().map(InboundMessage::requiredId).toList();
            call = create(requests, ids);
            if (extension.length > 0) {
                call.mayBeRerun();
            }
            calls.start(call);
            prompt = call.liveReader().isPresent() && engine.storeWorks() && log.answered();
            entry = prompt ? start(call, ids, extension) : start(call, ids, extension, () -> notStarted(call));
            log.enqueue(entry);
        } finally {
            session.unlock();
            effects.run();
        }
        if (prompt) {
            return CompletableFuture.completedFuture(started(call));
        }
        log.drain();
        CompletionStage<Void> stage = log.stageOf(entry);
        if (stage == SessionLog.DONE) {
            return CompletableFuture.completedFuture(started(call));
        }
        return stage.handle((done, failure) -> {
            if (failure != null) {
                session.locked(() -> dismissed(call, entry));
                throw new StoreUnavailableException(failure);
            }
            return started(call);
        });
    }

    /** The start of a call that runs already: the store has it sooner or later, unless the call has ended by then. */
    private Entry start(LiveCall call, List<RequestId> ids, byte[] extension) {
        return start(call, ids, extension, () -> {
            if (!call.done()) {
                log.enqueue(start(call, ids, extension));
            }
        });
    }

    private static Entry start(LiveCall call, List<RequestId> ids, byte[] extension, Runnable again) {
        return Entry.start(call, new RecordChange.CallStarted(call.id(), ids, extension), again);
    }

    /** Whether a call may be run again after a death of this process. */
    private boolean harmless(List<InboundMessage> requests) {
        return outlives
                && requests.size() == 1
                && !LiveCall.initializes(requests.get(0))
                && engine.backend().mayBeRerun(requests.get(0), session.principal());
    }

    private LiveCall create(List<InboundMessage> requests, List<RequestId> ids) {
        if (session.listensOnly()) {
            return LiveCall.unread(streams.nextId(), streams.listening(), session, requests);
        }
        return LiveCall.reading(LiveReader.first(session, streams.create(ids), log.epoch()), session, requests);
    }

    private Optional<Call.Outcome> refusal(List<InboundMessage> requests) {
        if (engine.draining()) {
            return Optional.of(new Call.Refused(Refusal.DRAINING));
        }
        if (session.lifecycle().state().closed()) {
            return Optional.of(new Call.Closed(session.ended()));
        }
        Optional<RequestId> duplicate = calls.duplicate(requests);
        if (duplicate.isPresent()) {
            return duplicate.map(Call.Duplicate::new);
        }
        if (requests.stream().anyMatch(Inflow::tooLong)) {
            return Optional.of(new Call.Refused(Refusal.BODY_SIZE));
        }
        if (!journal.hasRoom(requests)) {
            return Optional.of(new Call.Refused(Refusal.JOURNAL));
        }
        if (calls.running() + requests.size() > engine.limits().runningCalls()) {
            return Optional.of(new Call.Refused(Refusal.SESSION_CALLS));
        }
        return engine.running() + requests.size() > engine.nodeLimits().runningCalls()
                ? Optional.of(new Call.Refused(Refusal.NODE_CALLS))
                : Optional.empty();
    }

    private static boolean tooLong(InboundMessage request) {
        return request.bytes().length > Journal.MOST_INITIALIZE_BYTES && LiveCall.initializes(request);
    }

    private Call.Outcome started(LiveCall call) {
        Effects effects = new Effects();
        boolean attached;
        session.lock();
        try {
            attached = call.liveReader()
                    .map(reader -> attached(reader, effects))
                    .orElseGet(() -> !session.lifecycle().state().closed());
        } finally {
            session.unlock();
        }
        effects.run();
        return attached ? new Call.Accepted(call) : new Call.Closed(session.ended());
    }

    private boolean attached(LiveReader reader, Effects effects) {
        streams.open(reader.stream());
        return session.attachments().attach(reader, effects);
    }

    /** Nobody waits any longer for the call to start. If the store should have it after all, it has ended. */
    private void dismissed(LiveCall call, Entry started) {
        notStarted(call);
        if (started.failure == null && !log.closed()) {
            log.insist(List.of(new RecordChange.CallEnded(call.id())));
        }
    }

    /** The store does not have the call; under the lock. */
    private void notStarted(LiveCall call) {
        call.sinks().forEach(sink -> {
            sink.close();
            calls.end(sink);
        });
        outflow.end(call);
    }

    void dispatch(LiveCall call) {
        if (call.initializes()) {
            initialize(call.sinks().get(0));
        } else {
            use(new Dispatch(session, call));
        }
    }

    /** Gives something to the backend, or lets it wait, which takes room; false if that cannot be. */
    private boolean use(BackendSlot.User user) {
        boolean taken = backend.use(user);
        engine.history().makeRoom();
        return taken;
    }

    /** Opens the backend; its answer goes the way of every answer. */
    private void initialize(LiveCall.Sink sink) {
        InboundMessage initialize = sink.request().withoutContext();
        backend.open(initialize, session.principal())
                .ifPresentOrElse(
                        opening -> opening.whenComplete((outcome, failure) -> opened(sink, outcome, failure)),
                        () -> session.fail(sink, "the session is initialized already"));
    }

    private void opened(LiveCall.Sink sink, Backend.@Nullable Outcome outcome, @Nullable Throwable failure) {
        if (outcome instanceof Backend.Opened opened) {
            session.accepted(sink.request(), opened.revision());
            session.identity().first(sink.request(), opened);
            engine.history().makeRoom();
            session.send(sink, opened.response());
            if (!backend.connected(opened.connection())) {
                session.closing(opened.connection());
            }
        } else if (outcome instanceof Backend.Refused refused) {
            notOpened(sink, refused.response());
        } else if (outcome instanceof Backend.Unreachable unreachable) {
            notOpened(sink, unreachable.response());
        } else {
            logger.error("session {}: could not be initialized", session.shortId(), failure);
            backend.notOpened();
            session.fail(sink, "internal error");
        }
    }

    private void notOpened(LiveCall.Sink sink, OutboundMessage response) {
        backend.notOpened();
        session.send(sink, response);
    }

    /** What to tell whoever has something for a session that is closed. */
    CompletionStage<Optional<Refusal>> refusedFor(EndReason end) {
        return refused(end.advice() == EndReason.Advice.RECONNECT ? Refusal.DRAINING : Refusal.UNKNOWN_SESSION);
    }

    private static CompletionStage<Optional<Refusal>> refused(Refusal reason) {
        return CompletableFuture.completedFuture(Optional.of(reason));
    }

    CompletionStage<Optional<Refusal>> notify(InboundMessage notification) {
        List<RecordChange> changes = Journal.changes(notification);
        if (changes.isEmpty()) {
            return forward(notification);
        }
        Entry entry = new Entry(null, changes, null, () -> log.insist(changes));
        boolean open;
        boolean room;
        session.lock();
        try {
            open = log.open();
            room = journal.hasRoom(List.of(notification));
            if (open && room) {
                log.enqueue(entry);
            }
        } finally {
            session.unlock();
        }
        if (!open) {
            return CompletableFuture.failedFuture(new StoreUnavailableException(null));
        }
        if (!room) {
            return refused(Refusal.JOURNAL);
        }
        log.drain();
        CompletionStage<Void> stored = Return.fromStore(() -> log.stageOf(entry));
        return forward(notification).thenCombine(stored, (refusal, done) -> refusal);
    }

    private CompletionStage<Optional<Refusal>> forward(InboundMessage notification) {
        return use(new Forward(notification)) ? TAKEN : refused(Refusal.BACKEND);
    }

    /** Hands a notification to the backend. From then on a fresh backend gets it with the journal, and not before. */
    private final class Forward implements BackendSlot.User {
        private final InboundMessage notification;

        private Forward(InboundMessage notification) {
            this.notification = notification;
        }

        @Override
        public long bytes() {
            return Journal.size(notification);
        }

        @Override
        public void handedTo(int life) {
            journal.apply(notification);
        }

        @Override
        public void use(BackendConnection connection) {
            try {
                connection.notify(notification);
            } catch (Throwable e) {
                logger.error("session {}: the backend failed on {}", session.shortId(), notification.method(), e);
            }
        }

        @Override
        public void refused(String cause) {
            logger.debug("session {}: {} was dropped: {}", session.shortId(), notification.method(), cause);
        }
    }

    boolean answer(InboundMessage response) {
        Optional<Consumer<InboundMessage>> asker = session.locked(() -> {
            Optional<CallTable.Question> question = calls.answered(response.requiredId());
            question.ifPresent(asked -> {
                asked.node().answered = true;
                streams.settle(List.of(asked.node()));
            });
            return question.flatMap(asked -> backend.answers(asked.life()));
        });
        asker.ifPresent(taker -> answer(taker, response));
        return asker.isPresent();
    }

    /** Answers this life of the backend, if it is still there; without the lock. */
    void answer(int life, InboundMessage response) {
        session.locked(() -> backend.answers(life)).ifPresent(taker -> answer(taker, response));
    }

    private void answer(Consumer<InboundMessage> taker, InboundMessage response) {
        try {
            taker.accept(response);
        } catch (Throwable e) {
            logger.error("session {}: the backend failed on an answer", session.shortId(), e);
        }
    }

    void cancel(RequestId request, InboundMessage notification) {
        Effects effects = new Effects();
        session.locked(() -> calls.find(request)
                .filter(sink -> sink.cancel(Optional.of(notification), effects))
                .ifPresent(sink -> cancelled(sink, effects)));
        effects.run();
        log.drain();
    }

    private void cancelled(LiveCall.Sink sink, Effects effects) {
        LiveCall call = sink.call();
        calls.end(sink);
        if (call.answered()) {
            log.insist(List.of(new RecordChange.CallEnded(call.id())));
        }
        if (call.done()) {
            outflow.end(call);
            call.stream().reader().ifPresent(effects::add);
        }
    }
}
