package dev.holdfast;

import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;

/**
 * Makes a session in memory what the store has kept of it: its journal, its streams, and a definite end for every call that ran
 * when its last life ended. Under the session's lock, before anybody else knows the session.
 */
final class Revival {
    private static final String INTERRUPTED =
            "the server ended while this call was running; whether it had any effect is not known";
    private static final String WITHDRAWN = "the server that asked has ended";
    private static final byte[] NOTHING = {};
    private static final Extent NEW = new Extent(0, 0);
    private static final Comparator<StreamId> BY_AGE =
            Comparator.comparingInt(StreamId::epoch).thenComparingLong(StreamId::number);

    private final LiveSession session;
    private final SessionEngine engine;
    private final CallTable calls;
    private final Outflow outflow;
    private final SessionLog log;
    private final StreamTable streams;
    private final RecordExtension extension;

    Revival(LiveSession session, SessionEngine engine, CallTable calls, Outflow outflow, RecordExtension extension) {
        this.session = session;
        this.engine = engine;
        this.calls = calls;
        this.outflow = outflow;
        this.log = outflow.log();
        this.streams = outflow.streams();
        this.extension = extension;
    }

    /** Does it; returns what waits for a fresh backend: the calls that are to be run again. */
    List<BackendSlot.User> run(Claim claim, Map<StreamId, List<Event>> events) {
        claim.record().journal().forEach(this::remember);
        Map<StreamId, RunningCall> running = claim.record().running();
        Set<StreamId> all = new TreeSet<>(BY_AGE);
        all.addAll(claim.streams().keySet());
        if (!session.listensOnly()) {
            all.addAll(running.keySet());
        }
        for (StreamId id : all) {
            Optional<RunningCall> call = Optional.ofNullable(running.get(id));
            LiveStream stream = streams.restore(
                    id,
                    call.map(RunningCall::requests).orElse(List.of()),
                    events.getOrDefault(id, List.of()),
                    claim.streams().getOrDefault(id, NEW));
            if (call.isEmpty() && !stream.listening()) {
                complete(stream);
            }
        }
        streams.all().forEach(this::withdrawQuestions);
        streams.confirm(streams.listening(), extension.confirmed());
        Set<StreamId> interrupted = new TreeSet<>(BY_AGE);
        interrupted.addAll(running.keySet());
        List<BackendSlot.User> again = new ArrayList<>(0);
        interrupted.forEach(
                id -> interrupt(id, Objects.requireNonNull(running.get(id))).ifPresent(again::add));
        streams.makeRoom();
        return again;
    }

    private InboundMessage read(byte[] message) {
        return UnreadableException.read(() -> engine.messages().read(message));
    }

    private void remember(String key, byte[] bytes) {
        InboundMessage message = read(bytes);
        if (key.equals(SessionRecord.INITIALIZE)) {
            session.journal().accepted(message);
        } else {
            session.journal()
                    .apply(new InboundMessage(
                            message.kind(),
                            message.id(),
                            message.method(),
                            message.bytes(),
                            new JournalChange.Put(key),
                            InboundMessage.NO_CONTEXT));
        }
    }

    /** Whether the client has everything of a stream that is complete is not known: it has the grace period at least to come. */
    private void complete(LiveStream stream) {
        stream.end(EndReason.COMPLETED);
        streams.doubt(stream, engine.now());
    }

    /** Nobody waits any more for what the last life asked. What earlier lives asked was withdrawn when this one began. */
    private void withdrawQuestions(LiveStream stream) {
        List<Node> asked = new ArrayList<>(0);
        for (Optional<Node> at = stream.oldest(); at.isPresent(); at = Optional.ofNullable(at.get().next)) {
            if (LiveStream.answerable(at.get())) {
                asked.add(at.get());
            }
        }
        streams.settle(asked);
        for (Node question : asked) {
            if (question.event.epoch().counter() >= extension.born()) {
                outflow.withdraw(question, WITHDRAWN);
            }
        }
    }

    private Optional<NextRun> interrupt(StreamId id, RunningCall running) {
        LiveStream stream =
                session.listensOnly() ? streams.listening() : streams.find(id).orElseThrow();
        Optional<Rerun> rerun = UnreadableException.read(() -> Rerun.of(running));
        List<InboundMessage> requests = rerun.isPresent()
                ? List.of(read(rerun.get().request()))
                : running.requests().stream().map(Revival::unknown).toList();
        LiveCall call = LiveCall.unread(id, stream, session, requests);
        session.lifecycle().callStarted(engine.now());
        engine.callStarted(requests.size());
        calls.start(call);
        if (rerun.isEmpty()) {
            call.sinks().forEach(sink -> outflow.fail(sink, INTERRUPTED));
            return Optional.empty();
        }
        call.mayBeRerun();
        if (!stream.listening()) {
            // on the listening stream nobody can tell whose progress it was
            call.continues(progress(stream));
        }
        byte[] extension = rerun.get().next().pack();
        return Optional.of(new NextRun(call, new RecordChange.CallStarted(id, running.requests(), extension)));
    }

    /** A call that is run again: when a backend is there for it, and the store has counted that. */
    private final class NextRun implements BackendSlot.User {
        private final LiveCall call;
        private final RecordChange counted;

        private NextRun(LiveCall call, RecordChange counted) {
            this.call = call;
            this.counted = counted;
        }

        @Override
        public long bytes() {
            return call.sinks().get(0).request().bytes().length;
        }

        @Override
        public void handedTo(int life) {
            // it gets the life that is there when it is counted
        }

        @Override
        public void use(BackendConnection connection) {
            session.locked(this::count);
            log.drain();
        }

        private void count() {
            if (log.closed() || call.answered()) {
                return;
            }
            Entry entry = new Entry(null, List.of(counted), null, this::count);
            log.enqueue(entry);
            CompletionStage<Void> unused =
                    log.stageOf(entry).whenComplete((done, failure) -> run(failure == null, entry.failure != null));
        }

        /** What was refused comes again; what was in doubt for too long ends, though the store may have counted it. */
        private void run(boolean isCounted, boolean comesAgain) {
            // handlers may run on the thread that dispatches: it must not be one of the store's
            boolean runs = isCounted && engine.elsewhere(call::dispatch);
            if (!runs && !comesAgain) {
                refused(INTERRUPTED);
            }
        }

        @Override
        public void refused(String cause) {
            call.sinks().forEach(sink -> session.fail(sink, cause));
        }
    }

    private static InboundMessage unknown(RequestId request) {
        return new InboundMessage(
                InboundMessage.Kind.REQUEST, request, "", NOTHING, JournalChange.NONE, InboundMessage.NO_CONTEXT);
    }

    /** How far the client was told that a call is. */
    private OptionalDouble progress(LiveStream stream) {
        OptionalDouble told = OptionalDouble.empty();
        for (Optional<Node> at = stream.oldest(); at.isPresent(); at = Optional.ofNullable(at.get().next)) {
            if (at.get().event.kind() == EventKind.PROGRESS) {
                OptionalDouble here = engine.messages().progress(at.get().event.bytes());
                told = here.isPresent() ? here : told;
            }
        }
        return told;
    }
}
