package dev.holdfast;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What a session's backend sends: from its hands into the log, and what a commit, or the lack of one, then changes. */
final class Outflow implements SessionLog.Owner {
    private static final int INTERNAL_ERROR = -32603;
    private static final int NO_LIFE = 0;
    private static final String GIVEN_UP = "the client has not answered, and too much waits for it";

    private final LiveSession session;
    private final SessionEngine engine;
    private final CallTable calls;
    private final Journal journal;
    private final Lifetime lifetime;
    private final SessionLog log;
    private final StreamTable streams;
    private final Recovery recovery;
    /** What has to be said when the log goes on, because the store did not take it. */
    private final LazyQueue<Runnable> unsaid = new LazyQueue<>();
    /** Questions that no client will answer any more, and whose askers do not know it yet. */
    private final LazyQueue<CallTable.Question> givenUp = new LazyQueue<>();

    Outflow(LiveSession session, SessionEngine engine, CallTable calls, Journal journal, Origin origin) {
        this.session = session;
        this.engine = engine;
        this.calls = calls;
        this.journal = journal;
        this.lifetime = origin.lifetime();
        this.log = new SessionLog(session.monitor(), engine.store(), origin, this);
        boolean forgetful = origin.listensOnly() && lifetime.grace().isZero();
        this.streams = new StreamTable(
                engine.limits(),
                lifetime,
                engine.messages(),
                log,
                id -> calls.answered(id).ifPresent(givenUp::addLast),
                engine.time(),
                engine.history(),
                forgetful);
        this.recovery = new Recovery(session, engine);
    }

    SessionLog log() {
        return log;
    }

    StreamTable streams() {
        return streams;
    }

    /** Appends to the listening stream what a life of the backend sends outside of calls. */
    CompletionStage<Void> send(int life, OutboundMessage message) {
        return send(streams.listening(), message, null, life, () -> session.lives(life));
    }

    /** Appends to the stream of a call. */
    CompletionStage<Void> send(LiveCall.Sink sink, OutboundMessage message) {
        BooleanSupplier taken = () -> sink.takes(message) && !repeats(sink, message);
        return send(sink.call().stream(), message, sink, sink.life(), taken);
    }

    /** Appends to the listening stream a notification that no life of the backend has sent, unless the session is leaving. */
    CompletionStage<Void> tell(OutboundMessage notification) {
        BooleanSupplier stays = () -> !session.lifecycle().state().closed();
        return send(streams.listening(), notification, null, NO_LIFE, stays);
    }

    private CompletionStage<Void> send(
            LiveStream stream, OutboundMessage message, LiveCall.@Nullable Sink sink, int life, BooleanSupplier taken) {
        Entry entry = null;
        boolean overflows = false;
        session.lock();
        try {
            if (log.closed() || !taken.getAsBoolean()) {
                return SessionLog.DONE;
            }
            if (streams.overdue()) {
                overflows = log.started();
            } else if (log.open()) {
                entry = enqueue(stream, message, sink, life);
            } else if (sink != null && EventKind.answers(message.kind())) {
                unsaid.addLast(() -> fail(sink, "the response could not be stored"));
            }
        } finally {
            session.unlock();
        }
        if (overflows) {
            session.close(EndReason.OVERFLOW);
        }
        if (entry == null) {
            return CompletableFuture.failedFuture(new StoreUnavailableException(null));
        }
        log.drain();
        tellAskers();
        return log.stageOf(entry);
    }

    /** Tells those who asked what nobody will answer; without the lock. */
    private void tellAskers() {
        if (session.locked(givenUp::isEmpty)) {
            return;
        }
        for (CallTable.Question question : session.locked(givenUp::takeAll)) {
            RequestId id = Objects.requireNonNull(question.node().event.id());
            byte[] error = engine.messages().error(id, INTERNAL_ERROR, GIVEN_UP).bytes();
            session.answerFor(
                    question.life(),
                    new InboundMessage(
                            InboundMessage.Kind.RESPONSE,
                            id,
                            "",
                            error,
                            JournalChange.NONE,
                            InboundMessage.NO_CONTEXT));
        }
    }

    /** Whether a call that is run again has been told as far as this before. */
    private boolean repeats(LiveCall.Sink sink, OutboundMessage message) {
        OptionalDouble told = sink.told();
        return told.isPresent()
                && message.kind() == EventKind.PROGRESS
                && engine.messages().progress(message.bytes()).orElse(Double.NEGATIVE_INFINITY) <= told.getAsDouble();
    }

    private Entry enqueue(LiveStream stream, OutboundMessage message, LiveCall.@Nullable Sink sink, int life) {
        Node node = streams.assign(stream, message);
        if (message.id() != null && EventKind.asks(message.kind())) {
            Optional<LiveCall> call = Optional.ofNullable(sink).map(LiveCall.Sink::call);
            calls.ask(message.id(), new CallTable.Question(node, life, call)).ifPresent(oldest -> {
                givenUp.addLast(oldest);
                streams.settle(List.of(oldest.node()));
            });
        }
        Entry entry;
        if (sink != null && EventKind.answers(message.kind())) {
            sink.answer();
            entry = new Entry(node, changes(sink, message), sink, () -> fail(sink, "the response could not be stored"));
        } else {
            entry = new Entry(node, List.of(), null, () -> {});
        }
        log.enqueue(entry);
        return entry;
    }

    private static List<RecordChange> changes(LiveCall.Sink sink, OutboundMessage answer) {
        List<RecordChange> journaled =
                answer.kind() == EventKind.RESPONSE ? Journal.changes(sink.request()) : List.of();
        RecordChange recorded = sink.call().recorded();
        if (journaled.isEmpty()) {
            return List.of(recorded);
        }
        List<RecordChange> both = new ArrayList<>(journaled);
        both.add(recorded);
        return both;
    }

    /** Answers a request with an error, now or when the log goes on; under the lock. Then drain. */
    void fail(LiveCall.Sink sink, String cause) {
        if (log.closed() || !sink.open()) {
            return;
        }
        if (!log.open()) {
            unsaid.addLast(() -> fail(sink, cause));
            return;
        }
        OutboundMessage error = engine.messages().error(sink.id(), INTERNAL_ERROR, cause);
        Node node = streams.assign(sink.call().stream(), error);
        sink.answer();
        log.enqueue(new Entry(node, changes(sink, error), sink, () -> fail(sink, cause)));
    }

    /**
     * Ends the calls that have run for too long: their clients get an error, their backend is told. Under the lock; then drain.
     *
     * @return whether there was one
     */
    boolean timeOut(long now, Effects effects) {
        long limit = lifetime.callNanos();
        List<LiveCall.Sink> late = calls.overdue(call -> engine.time().passed(limit, call.startedAt(), now));
        for (LiveCall.Sink sink : late) {
            fail(sink, "the call took longer than " + TimeText.of(lifetime.call()));
            sink.stop(effects);
            effects.add(() -> engine.news().timedOut(session));
        }
        return !late.isEmpty();
    }

    /** Tells the client that nobody waits for its answer, now or when the log goes on; under the lock. Then drain. */
    void withdraw(Node question, String cause) {
        RequestId asked = question.event.id();
        LiveStream stream = question.stream;
        boolean heard = question.kept && question.event.kind() != EventKind.PING;
        if (asked == null || !heard || log.closed() || stream.ended().isPresent()) {
            return;
        }
        if (!log.open()) {
            unsaid.addLast(() -> withdraw(question, cause));
            return;
        }
        say(stream, engine.messages().cancelled(asked, cause), () -> withdraw(question, cause));
    }

    /** Says something to whoever listens, now or when the log goes on; under the lock. Then drain. */
    void announce(OutboundMessage message) {
        LiveStream stream = streams.listening();
        whenOpen(() -> {
            if (stream.ended().isEmpty()) {
                say(stream, message, () -> announce(message));
            }
        });
    }

    /** Does something with the log, now or when it goes on; under the lock. */
    void whenOpen(Runnable action) {
        if (log.open()) {
            action.run();
        } else if (!log.closed()) {
            unsaid.addLast(action);
        }
    }

    private void say(LiveStream stream, OutboundMessage message, Runnable again) {
        log.enqueue(new Entry(streams.assign(stream, message), List.of(), null, again));
    }

    /**
     * The backend is gone: what it asked is withdrawn, what it had in its hands is answered with an error. Under the lock, so
     * that nothing of its next life is hit. Then drain.
     */
    void backendLost(String cause) {
        List<Node> asked =
                calls.withdraw().stream().map(CallTable.Question::node).toList();
        streams.settle(asked);
        asked.forEach(question -> withdraw(question, cause));
        for (LiveCall.Sink sink : calls.all()) {
            if (sink.life() > 0) {
                fail(sink, cause);
            }
        }
    }

    /** The backend gives up what it asked, and has told the client itself. */
    void withdrawn(RequestId question) {
        session.locked(() -> calls.answered(question).ifPresent(asked -> streams.settle(List.of(asked.node()))));
    }

    /** The session ends: what it still keeps counts no more for the node. */
    void leave() {
        session.locked(() -> streams.leave());
    }

    /** Answers every running call with an error. Completes when what is on its way is committed. */
    CompletionStage<Void> failRunning(String cause) {
        return failRunning(cause, call -> true);
    }

    /** The same for those calls that nobody can run again. */
    CompletionStage<Void> failUnrepeatable(String cause) {
        return failRunning(cause, call -> !call.rerunnable());
    }

    private CompletionStage<Void> failRunning(String cause, Predicate<LiveCall> which) {
        session.locked(() ->
                calls.all().stream().filter(sink -> which.test(sink.call())).forEach(sink -> fail(sink, cause)));
        log.drain();
        return log.settled();
    }

    /** Ends the log, every stream and every call. */
    void close(EndReason reason) {
        Effects effects = new Effects();
        session.locked(() -> {
            log.close(effects);
            for (LiveStream stream : streams.all()) {
                if (reason == EndReason.PARKED && !stream.recorded()) {
                    // nobody is sent back to a stream that the store does not know
                    stream.reader().ifPresent(LiveReader::supersede);
                }
                stream.seal(reason);
                stream.reader().ifPresent(effects::add);
            }
            calls.all().forEach(sink -> end(sink.call()));
        });
        effects.run();
    }

    @Override
    public void committed(Entry entry, Effects effects) {
        recovery.committed();
        LiveCall started = entry.started;
        if (started != null && !started.stream().recorded()) {
            started.stream().record();
            started.stream().reader().ifPresent(effects::add);
        }
        Node node = entry.node;
        if (node == null) {
            return;
        }
        if (!streams.commit(node)) {
            effects.add(() -> session.close(EndReason.OVERFLOW));
        }
        if (!givenUp.isEmpty()) {
            effects.add(this::tellAskers);
        }
        LiveCall.Sink sink = entry.answered;
        if (sink != null) {
            sink.close();
            calls.end(sink);
            if (node.event.kind() == EventKind.RESPONSE) {
                journal.apply(sink.request());
            }
            if (sink.call().done()) {
                end(sink.call());
            }
        }
        if (engine.history().exceeded()) {
            effects.add(engine.history()::makeRoom);
        }
        node.stream.reader().ifPresent(effects::add);
    }

    /** A call is over; under the lock. Then wake its reader. */
    void end(LiveCall call) {
        if (!call.end()) {
            return;
        }
        LiveStream stream = call.stream();
        if (stream.listening()) {
            calls.askedFor(call).forEach(streams::leave);
        } else {
            stream.end(call.reason());
        }
        session.lifecycle().callEnded(engine.now());
        engine.callEnded(call.sinks().size());
        if (stream.reader().isEmpty() && call.reason() == EndReason.CANCELLED) {
            streams.finish(stream, engine.now());
        }
    }

    @Override
    public void refused(Entry entry, Effects effects) {
        unsaid.addFirst(entry.again);
        Node node = entry.node;
        if (node == null) {
            return;
        }
        streams.rollback(node);
        RequestId asked = node.event.id();
        if (asked != null && EventKind.asks(node.event.kind())) {
            calls.answered(asked);
        }
        if (entry.answered != null) {
            entry.answered.unanswer();
        }
        node.stream.reader().ifPresent(effects::add);
    }

    @Override
    public void doubtful(Throwable failure, Effects effects) {
        effects.add(() -> recovery.begin(log, failure));
    }

    @Override
    public void recovered() {
        unsaid.takeAll().forEach(Runnable::run);
    }
}
