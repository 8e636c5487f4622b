package dev.holdfast.session;

import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.StreamReader;
import dev.holdfast.log.Epochs;
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.Pending;
import dev.holdfast.log.ResumePoint;
import dev.holdfast.log.Step;
import dev.holdfast.log.StreamCursor;
import dev.holdfast.session.LiveCall.Cancellation;
import dev.holdfast.session.StoreQuestion.LeaseLostException;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** A session in memory as its {@link Cluster} sees it, whose other nodes may have it too, each with streams of its own. */
public final class SessionReplica {
    /** Each node that has the session gets a cancellation, and more than once. */
    private static final int MOST_CANCELLATION_BYTES = 4 << 10;

    private final SessionCore core;
    private final Readers readers;
    private final BackendSlot backend;
    private final SessionOpening opening;

    SessionReplica(SessionCore core, Readers readers, BackendSlot backend, SessionOpening opening) {
        this.core = core;
        this.readers = readers;
        this.backend = backend;
        this.opening = opening;
    }

    public Epoch epoch() {
        return core.log.look(core.log.epochs()::present);
    }

    /**
     * Where a client comes back that names this event. An epoch that came after the present one here is taken at its word; nobody knows
     * whether the session had one that is older than those that are known.
     *
     * @param latest the latest epoch that the session has
     * @param certainFrom the counter of the epoch since which surely nothing was lost
     */
    public ResumePoint resume(EventId after, Epoch latest, int certainFrom) {
        Epoch epoch = after.epoch();
        return core.log.look(() -> {
            Epochs epochs = core.log.epochs();
            boolean forgotten = epochs.forgot(epoch);
            boolean later = epoch.counter() > epochs.present().counter() && epoch.counter() < latest.counter();
            boolean ours = forgotten || later || epoch.equals(latest) || epochs.had(epoch);
            return new ResumePoint(after, ours, forgotten || epoch.counter() < certainFrom);
        });
    }

    /** Up to which offset its client has surely read the listening stream, as far as the store knows, or this node. */
    public long confirmed(SessionRecord record) {
        long here = core.log.look(() -> core.streams.listening().confirmed());
        return Math.max(here, RecordState.Extension.of(record).confirmed());
    }

    public EndReason ended() {
        return core.ended();
    }

    public void missed(StreamId stream) {
        readers.missed(stream);
    }

    /** Whether the stream of a call is written here. */
    public boolean writes(StreamId stream) {
        return !stream.equals(StreamId.LISTENING) && core.log.look(() -> isWritten(stream));
    }

    /** The answers to a call may go to the listening stream. */
    private boolean isWritten(StreamId stream) {
        return core.streams.find(stream).isPresent()
                || core.requests.all().stream().anyMatch(request -> request.call.id.equals(stream));
    }

    /** What the client is told in the place of answers that the store has lost. */
    public List<OutboundMessage> lostErrors(Collection<RequestId> unanswered) {
        return core.lostErrors(unanswered);
    }

    /** Makes a decision about what is read here of other nodes, then does what it causes. */
    public <T> T step(Function<Step, T> decision) {
        return core.log.step(decision);
    }

    /**
     * A connection begins to read what other nodes write; false if the session is at its end.
     *
     * @param open the requests whose answers it has yet to read
     */
    public boolean enter(StreamCursor reader, Set<RequestId> open, Attachment how) {
        return readers.enter(reader, open, how);
    }

    /** It reads no more; later calls change nothing. */
    public void leave(StreamCursor reader, StreamReader.Close how) {
        readers.leave(reader, how);
    }

    /** A newer connection has its stream. */
    public void supersede(StreamCursor reader) {
        readers.supersede(reader);
    }

    /** Ends a reader that could not {@link #enter}, for the session has ended. */
    public void endReading(StreamCursor reader, Set<RequestId> open) {
        core.log.run(step -> readers.end(reader, open, core.ended(), step));
    }

    /** A newer connection reads the stream of a call, on another node or beside the session's streams. */
    public void supersede(StreamId stream) {
        readers.supersede(stream);
    }

    /** The client has everything of a call's stream, on whatever node it has read it; false if that is not kept here. */
    public boolean delivered(StreamId stream) {
        long now = core.clock.now();
        return core.log.step(step -> {
            Optional<LiveStream> found = core.streams.find(stream);
            found.filter(kept -> kept.ended().isPresent()).ifPresent(kept -> core.streams.finish(kept, now, step));
            return found.isPresent();
        });
    }

    /** Keeps, as long as its own, a call's stream whose client has everything, and whose writer is gone. */
    public void adopt(StreamId stream, List<Event> kept, Extent extent) {
        long now = core.clock.now();
        core.log.run(step -> {
            if (core.lifecycle.closed() || core.streams.find(stream).isPresent()) {
                return;
            }
            LiveStream adopted = core.streams.restore(stream, List.of(), kept, extent, step);
            adopted.end(EndReason.COMPLETED, step);
            core.streams.finish(adopted, now, step);
            core.streams.retention().makeRoom(step);
            core.outbox.flush(step);
        });
    }

    /** The client has everything of the listening stream up to here, whoever wrote it. */
    public void confirm(long offset) {
        core.log.run(step -> {
            core.record.follow(step);
            core.streams.listening().advance(offset, step);
            core.streams.retention().confirm(core.streams.listening(), offset, step);
        });
    }

    /** The client has come back with a cursor: the same, and what it has is released. */
    public void release(long offset) {
        core.log.run(step -> {
            core.record.follow(step);
            core.streams.listening().advance(offset, step);
            core.streams.retention().release(core.streams.listening(), offset, step);
            core.outbox.flush(step);
        });
    }

    /** Lets the store forget what nodes have sent on the listening stream that are gone, and the client has. */
    public void trim(List<Event> had) {
        core.log.run(step -> {
            had.forEach(event -> core.outbox.trim(event.stream(), event.offset(), step));
            core.outbox.flush(step);
        });
    }

    /** The store takes nothing, and may go on so for long: no client waits for what is on its way. */
    public void dismissClients(Throwable failure) {
        core.log.run(step -> core.outbox.dismissClients(failure, step));
    }

    /** Completes when the store has decided what is on its way; fails where it has not for some seconds. */
    public CompletionStage<Void> settled() {
        return core.log.settledUnlessStuck();
    }

    /** Gets an epoch that is newer than all others; completes with whether it has one. */
    public CompletionStage<Boolean> renew() {
        return core.log.renew(core.host.random().nextInt());
    }

    /**
     * Makes an empty commit, by which the store tells whether it has lost what was written here under an epoch before this counter. If so,
     * the session is fenced here, as by any commit; else it gets a newer epoch.
     */
    public void prove(int certainFrom) {
        if (epoch().counter() >= certainFrom) {
            return;
        }
        Pending nothing = new Pending(null, List.of());
        core.log.run(step -> {
            if (core.outbox.open()) {
                core.outbox.add(nothing, step);
            }
        });
        core.log.stageOf(nothing).thenCompose(kept -> renew());
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
            if (isWritten(stream)) {
                return;
            }
            Lifecycle.Move move = core.lifecycle.callStarted(core.clock.now());
            if (move.leavesClosed()) {
                step.then(() -> core.alive(move));
                return;
            }
            RunningCall inherited = mayRun ? running : new RunningCall(running.requests(), SessionRecord.NO_EXTENSION);
            takeOver(stream, inherited, kept, extent, seen, step);
        });
    }

    /** The call counts already; one that cannot be read does not. */
    private void takeOver(StreamId stream, RunningCall running, List<Event> kept, Extent extent, long seen, Step step) {
        try {
            opening.inherit(stream, running, kept, extent, seen, step);
        } catch (RuntimeException e) {
            core.lifecycle.callEnded(core.clock.now());
            throw e;
        }
    }

    /** Brings the journal to what it is in the store, and the backend with it; completes when the backend has it. */
    public CompletionStage<Void> catchUp(SessionRecord record) {
        return new CatchUp(core, backend).to(record);
    }

    /** Makes the journal what it is in the store, for the backend that is opened next. */
    public void follow(SessionRecord record) {
        new CatchUp(core, backend).follow(record);
    }

    /** Whether no backend was here yet. */
    public boolean lacksBackend() {
        return backend.presence() == BackendSlot.Presence.PENDING;
    }

    /**
     * Opens the first backend here, which exists once and is to be on this node. One that takes headers of a request along waits for
     * that; the next one after a loss is opened when it is needed. Where nobody can open it now, whoever needs it asks again.
     */
    public void openBackend() {
        boolean missing =
                lacksBackend() && !core.host.draining() && !core.host.backend().needsContext();
        if (missing) {
            boolean unused = core.host.elsewhere(backend::restore);
        }
    }

    /** Its client reads the listening stream on another node: the session, and the backend that is here, are in use. */
    public void read() {
        Lifecycle.Move move = core.lifecycle.touch(core.clock.now());
        if (core.alive(move)) {
            readers.readElsewhere();
        }
    }

    /** A call that is to set out for the node that has the backend. */
    public CallOnItsWay onItsWay(List<InboundMessage> requests) {
        return new CallOnItsWay(core, requests);
    }

    /** What other nodes hear of a cancellation: of one that says much, no more than which request it is. */
    public Cancellation toldElsewhere(Cancellation cancellation) {
        if (cancellation.notification().bytes().length <= MOST_CANCELLATION_BYTES) {
            return cancellation;
        }
        MessageFactory messages = core.host.messages();
        InboundMessage notification =
                messages.read(messages.cancelled(cancellation.request(), "the client has cancelled it")
                        .bytes());
        return new Cancellation(cancellation.request(), notification, cancellation.number(), cancellation.call());
    }

    /** What a question gets in the place of a client's answer that is too large to reach the node that has asked. */
    public InboundMessage tooLarge(InboundMessage response) {
        RequestId id = response.requiredId();
        byte[] error = core.host
                .messages()
                .error(id, SessionCore.INTERNAL_ERROR, "the client's answer is too large for the session store")
                .bytes();
        return new InboundMessage(
                InboundMessage.Kind.RESPONSE, id, "", error, JournalChange.NONE, InboundMessage.NO_CONTEXT);
    }

    /** The client cancels a request: if it is on its way from here, it is not sent any more. */
    public void cancelOnItsWay(Cancellation cancellation) {
        core.log.run(step -> core.requests.cancelOnItsWay(cancellation, step));
    }

    public boolean draining() {
        return core.host.draining();
    }

    /** Another node has ended the session. */
    public void end(EndReason reason) {
        core.end(reason);
    }

    /** What the store has of it will never be readable: it ends on every node. */
    public void unreadable(Throwable why) {
        if (!core.lifecycle.closed()) {
            core.host.telemetry().unreadable(core.id(), why);
            core.end(EndReason.RESTORE_FAILED);
        }
    }

    /** Its epoch was fenced: nothing is written here any more, and clients come back, to whatever node. */
    public void fenced() {
        Epoch present = epoch();
        abandon(new StaleEpochException(present, present), EndReason.TAKEN_OVER);
    }

    /** This node has lost its lease: the same, but nobody has to have taken the session over. */
    public void leaseLost() {
        abandon(new LeaseLostException(), core.endWithLease());
    }

    private void abandon(RuntimeException cause, EndReason why) {
        core.log.run(step -> {
            core.takenOver(step);
            core.outbox.fence(cause, step);
            step.end(why);
        });
    }
}
