package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.log.Epochs;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.Step;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.UnreadableException;
import dev.holdfast.log.Streams;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.Epoch;
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
import dev.holdfast.spi.TooLargeException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** How a session begins: with a client's {@code initialize}, before it, or with what the store has kept. */
public final class SessionOpening {
    private static final long FIRST_RESTORE_MILLIS = 1_000;
    private static final long MOST_RESTORE_MILLIS = 60_000;

    private static final String WITHDRAWN = "the server that asked has ended";
    private static final byte[] NOTHING = {};
    private static final Extent NEW = new Extent(0, 0);
    private static final Comparator<StreamId> BY_AGE =
            Comparator.comparingInt(StreamId::epoch).thenComparingLong(StreamId::number);

    private final SessionCore core;
    private final SessionHost host;
    private final Outbound outbound;
    private final BackendSlot backend;
    private final Streams streams;

    SessionOpening(SessionCore core, Outbound outbound, BackendSlot backend) {
        this.core = core;
        this.host = core.host;
        this.outbound = outbound;
        this.backend = backend;
        this.streams = core.streams;
    }

    /** Opens the backend of a session that has no name yet. */
    public CompletionStage<Backend.Outcome> openBackend(InboundMessage initialize) {
        return backend.open(initialize).orElseThrow();
    }

    /** The backend has accepted: the session has a name from here on. Completes when the store has its record. */
    public CompletionStage<Void> create(String name, InboundMessage initialize, Backend.Opened opened) {
        core.name(name);
        core.negotiated(opened.revision());
        core.log.run(step -> core.journal.accepted(initialize, step));
        outbound.began(opened.response());
        return backend.connected(opened.connection())
                ? create(Map.of(SessionRecord.INITIALIZE, initialize.bytes()))
                : CompletableFuture.failedFuture(new IllegalStateException("closed while it was opened"));
    }

    /** The backend has accepted a session that is not to be, and ends with it. */
    public void decline(Backend.Opened opened) {
        boolean unused = backend.connected(opened.connection());
    }

    /** Gives a name to a session whose client will initialize it later. Completes when the store has its record. */
    public CompletionStage<Void> create(String name) {
        core.name(name);
        return create(Map.of());
    }

    private CompletionStage<Void> create(Map<String, byte[]> entries) {
        Epoch first = core.log.look(core.log::epoch);
        SessionRecord record = core.log.step(step -> new SessionRecord(
                1,
                core.kind,
                core.principal,
                core.record.expiresAt(),
                core.record.extension(step),
                core.revision(),
                entries,
                Map.of()));
        return StoreQuestion.ask(() -> host.store().create(core.key(), first, record));
    }

    /** How long its store keeps it, in milliseconds since 1970. */
    public long expiresAt() {
        return core.log.look(core.record::expiresAt);
    }

    /** The session is known to those who will hear of its end: it may live. */
    public void start() {
        host.telemetry.created(core.id(), core.kind, core::told);
        core.lifecycle.opened(core.clock.now());
        core.log.start(core.key());
    }

    /**
     * Comes back into memory, as the store has kept it.
     *
     * @param known makes it known to those who look for it; called under the lock, so that whoever finds it waits until it is whole
     */
    public void restore(String name, Claim claim, Map<StreamId, List<Event>> events, Runnable known) {
        core.name(name);
        core.negotiated(claim.record().revision());
        core.log.start(core.key());
        Cluster cluster = host.cluster();
        core.log.run(step -> {
            Lifecycle.Move begun = core.lifecycle.returned(cluster.restoredState(), core.clock.now());
            assert !begun.leavesClosed() : "nobody knows it yet";
            core.outbox.insist(core.record.begun(step), step);
            List<BackendUser> again = remember(claim, events, step);
            known.run();
            List<? extends BackendUser> turnedAway = core.revision().isEmpty() ? again : backend.returned(again, step);
            turnedAway.forEach(user -> user.turnAway("no backend is there", step));
        });
        host.telemetry.returned(core::told, cluster.restoredState());
        if (!host.backend.needsContext() && !cluster.backendMayBeElsewhere()) {
            restoreBackend(FIRST_RESTORE_MILLIS);
        }
    }

    /** Opens a fresh backend for the calls that are run again, and for a client that only listens; later if nobody can now. */
    private void restoreBackend(long delay) {
        if (!core.lifecycle.closed() && !host.elsewhere(backend::restore)) {
            host.later(() -> restoreBackend(Math.min(2 * delay, MOST_RESTORE_MILLIS)), delay);
        }
    }

    /**
     * Makes the session what the store has kept of it: its journal, its streams, and a definite end for every call that ran when it was
     * last in memory. Returns what waits for a fresh backend: the calls that are to be run again.
     */
    private List<BackendUser> remember(Claim claim, Map<StreamId, List<Event>> events, Step step) {
        claim.record().journal().forEach((key, bytes) -> remember(key, bytes, step));
        Map<StreamId, RunningCall> running = claim.record().running();
        Set<StreamId> all = new TreeSet<>(BY_AGE);
        all.addAll(claim.streams().keySet());
        if (!core.listensOnly) {
            all.addAll(running.keySet());
        }
        for (StreamId id : all) {
            Optional<RunningCall> call = Optional.ofNullable(running.get(id));
            List<Event> kept = events.getOrDefault(id, List.of());
            if (call.isEmpty() && !id.equals(StreamId.LISTENING) && kept.isEmpty()) {
                // its response is lost: whoever asks for it is told that there is no such stream
                step.then(() -> host.telemetry.gap(core.id(), id.epoch() + "." + id.number()));
                continue;
            }
            LiveStream stream = streams.restore(id, kept, claim.streams().getOrDefault(id, NEW), step);
            if (call.isEmpty() && !stream.listening()) {
                complete(stream, step);
            }
        }
        RecordState.Extension extension = RecordState.Extension.of(claim.record());
        int born = extension.born();
        streams.all().forEach(stream -> withdrawQuestions(stream, born, step));
        streams.listening().advance(Math.min(extension.confirmed(), unread(claim)), step);
        streams.confirm(streams.listening(), extension.confirmed(), step);
        Set<StreamId> interrupted = new TreeSet<>(BY_AGE);
        interrupted.addAll(running.keySet());
        List<BackendUser> again = new ArrayList<>(0);
        for (StreamId id : interrupted) {
            core.lifecycle.callStarted(host.clock.now());
            interrupt(id, Objects.requireNonNull(running.get(id)), OptionalLong.empty(), step)
                    .ifPresent(again::add);
        }
        streams.makeRoom(step);
        return again;
    }

    /** How far the listening stream goes that was not read here, because others write it too. */
    private static long unread(Claim claim) {
        return claim.streams().containsKey(StreamId.LISTENING) ? 0 : Long.MAX_VALUE;
    }

    /**
     * Takes over a call of a node that has died: it is run again where it may be, else its client gets an error.
     *
     * @param seen up to which offset its client has its stream
     * @param mayRun whether the backend is on this node
     */
    public void inherit(
            StreamId stream, RunningCall running, List<Event> kept, Extent extent, long seen, boolean mayRun) {
        core.log.run(step -> {
            if (core.isWritten(stream)) {
                return;
            }
            if (!core.alive(core.lifecycle.callStarted(core.clock.now()), step)) {
                return;
            }
            RunningCall inherited = mayRun ? running : new RunningCall(running.requests(), SessionRecord.NO_EXTENSION);
            takeOver(stream, inherited, kept, extent, seen, step);
        });
    }

    /** The call counts already; one that cannot be read does not. */
    private void takeOver(StreamId stream, RunningCall running, List<Event> kept, Extent extent, long seen, Step step) {
        try {
            if (!core.listensOnly) {
                withdrawQuestions(streams.restore(stream, kept, extent, step), 0, step);
            }
            interrupt(stream, running, OptionalLong.of(seen), step).ifPresent(run -> run.count(step));
        } catch (RuntimeException e) {
            core.lifecycle.callEnded(core.clock.now());
            throw e;
        }
    }

    private InboundMessage read(byte[] message) {
        return UnreadableException.read(() -> host.messages.read(message));
    }

    private void remember(String key, byte[] bytes, Step step) {
        InboundMessage message = read(bytes);
        if (key.equals(SessionRecord.INITIALIZE)) {
            core.journal.accepted(message, step);
        } else {
            core.journal.apply(
                    new InboundMessage(
                            message.kind(),
                            message.id(),
                            message.method(),
                            message.bytes(),
                            new JournalChange.Put(key),
                            InboundMessage.NO_CONTEXT),
                    step);
        }
    }

    /** Whether the client has everything of a stream that is complete is not known: it has the grace period at least to come. */
    private void complete(LiveStream stream, Step step) {
        stream.end(EndReason.COMPLETED, step);
        streams.doubt(stream, host.clock.now(), step);
    }

    /** Nobody waits any more for what the last life asked. What earlier lives asked was withdrawn when this one began. */
    private void withdrawQuestions(LiveStream stream, int born, Step step) {
        List<KeptEvent> asked = new ArrayList<>(0);
        for (KeptEvent node = stream.head(); node != null; node = node.next) {
            if (node.answerable()) {
                asked.add(node);
            }
        }
        streams.settle(asked, step);
        for (KeptEvent question : asked) {
            if (question.event.epoch().counter() >= born) {
                outbound.withdraw(question, WITHDRAWN, step);
            }
        }
    }

    private Optional<NextRun> interrupt(StreamId id, RunningCall running, OptionalLong seen, Step step) {
        LiveStream stream =
                core.listensOnly ? streams.listening() : streams.find(id).orElseThrow();
        Optional<Rerun> rerun = core.reruns() ? UnreadableException.read(() -> Rerun.of(running)) : Optional.empty();
        List<InboundMessage> requests = rerun.isPresent()
                ? List.of(read(rerun.get().request()))
                : running.requests().stream().map(SessionOpening::unknown).toList();
        long now = host.clock.now();
        LiveCall call = new LiveCall(core, id, stream, null, requests, now);
        host.running.add(core.principal, requests.size());
        core.requests.start(call, step);
        // on the listening stream nobody can tell whose progress it was
        OptionalDouble told = stream.listening() ? OptionalDouble.empty() : goOn(stream, seen, step);
        Optional<NextRun> nextRun = rerun.map(Rerun::next).map(next -> {
            call.mayBeRerun(next, step);
            call.continues(told, step);
            return new NextRun(call, new RecordChange.CallStarted(id, running.requests(), next.pack()));
        });
        // a node that inherits it does not know how the connection of its client has ended
        if (core.kind.equals(SessionRecord.CARRIER) && seen.isEmpty() && !stream.isNoted()) {
            call.requests.forEach(request -> outbound.cancel(request, cancelled(request.id()), step));
            return nextRun.filter(NextRun::waitsOn);
        }
        if (nextRun.isEmpty()) {
            call.requests.forEach(request -> outbound.fail(request, Outbound.INTERRUPTED, step));
        }
        return nextRun;
    }

    /** Nobody can come back for what a carrier's client has no handle of: the end of its connection, with its process, has cancelled it. */
    private InboundMessage cancelled(RequestId request) {
        return host.messages.read(
                host.messages.cancelled(request, "its client has gone").bytes());
    }

    /**
     * A call that is run again when the store has counted that, and the journal is here that it had then. After a restart it is counted
     * when there is a backend again: it may be long until one is needed.
     */
    private final class NextRun implements BackendUser {
        private final LiveCall call;
        private final RecordChange counted;

        private NextRun(LiveCall call, RecordChange counted) {
            this.call = call;
            this.counted = counted;
        }

        @Override
        public long bytes() {
            return call.requests.get(0).message().bytes().length;
        }

        @Override
        public boolean waitsOn() {
            return call.waitsOn();
        }

        @Override
        public void handedTo(int incarnation, Step step) {
            // it gets the incarnation that is there when it is counted
        }

        @Override
        public void use(BackendConnection connection) {
            core.log.run(this::count);
        }

        /** As long as the store does not say whether it has it, the call waits: an error would reach the client no sooner. */
        private void count(Step now) {
            core.outbox.whenOpen(now, step -> {
                if (!call.answered()) {
                    core.outbox.add(counting(), step);
                } else if (call.waitsOn()) {
                    step.then(this::run);
                }
            });
        }

        private Pending counting() {
            return new Pending(null, List.of(counted)) {
                @Override
                public void committed(Step step) {
                    step.then(NextRun.this::counted);
                }

                @Override
                public void again(Step step) {
                    if (failure() instanceof TooLargeException) {
                        call.requests.forEach(request -> outbound.fail(request, Outbound.INTERRUPTED, step));
                    } else {
                        count(step);
                    }
                }
            };
        }

        private void counted() {
            CompletionStage<Void> unused = host.cluster()
                    .journalReached(core.key())
                    .whenComplete((reached, unread) -> {
                        if (unread == null) {
                            run();
                        } else {
                            refused(Outbound.INTERRUPTED);
                        }
                    });
        }

        private void run() {
            // handlers may run on the thread that dispatches: it must not be one of the store's
            if (!host.elsewhere(call::dispatch)) {
                refused(Outbound.INTERRUPTED);
            }
        }

        @Override
        public void refused(String cause) {
            outbound.refuse(call, cause);
        }
    }

    private static InboundMessage unknown(RequestId request) {
        return new InboundMessage(
                InboundMessage.Kind.REQUEST, request, "", NOTHING, JournalChange.NONE, InboundMessage.NO_CONTEXT);
    }

    /**
     * Lets the stream of a call go on. Its next offset lies behind all that the client can have seen, even if the store has lost that.
     *
     * @param seen up to which offset the client has it, empty where nobody knows
     * @return the last progress that the client was told; infinity where nobody knows, so that no progress is told again
     */
    private OptionalDouble goOn(LiveStream stream, OptionalLong seen, Step step) {
        Epochs epochs = core.log.epochs();
        OptionalDouble told =
                stream.dropped() > 0 ? OptionalDouble.of(Double.POSITIVE_INFINITY) : OptionalDouble.empty();
        boolean mayLackTail = epochs.doubts(stream.id().epoch());
        boolean mayLackProgress = mayLackTail;
        long known = 0; // of what was written before the store may have lost something
        for (KeptEvent node = stream.head(); node != null; node = node.next) {
            Event event = node.event;
            mayLackTail = epochs.doubts(event.epoch().counter());
            known = mayLackTail ? event.offset() : known;
            OptionalDouble here =
                    event.kind() == EventKind.PROGRESS ? host.messages.progress(event.bytes()) : OptionalDouble.empty();
            if (here.isPresent()) {
                told = here;
                mayLackProgress = mayLackTail;
            }
        }
        known = mayLackTail ? stream.committed() : known;
        boolean hasLost = seen.orElse(0) > stream.committed();
        if (hasLost || mayLackTail) {
            stream.leaveOut(step);
        }
        boolean unsure = hasLost || (mayLackProgress && seen.orElse(Long.MAX_VALUE) > known);
        return unsure ? OptionalDouble.of(Double.POSITIVE_INFINITY) : told;
    }
}
