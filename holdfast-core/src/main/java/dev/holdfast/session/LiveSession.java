package dev.holdfast.session;

import dev.holdfast.Call;
import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Refusal;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.SessionDescription;
import dev.holdfast.SessionState;
import dev.holdfast.log.Pending;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.session.LiveCall.Cancellation;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** A session in memory: what the edge and the engine do to it. It puts the parts together; what they share is the core. */
public final class LiveSession implements Session {
    private static final CompletionStage<Boolean> TAKEN = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> DROPPED = CompletableFuture.completedFuture(false);

    private final SessionCore core;
    private final Outbound outbound;
    private final Answers answers;
    private final ServerIdentity identity;
    private final Readers readers;
    private final BackendSlot backend;
    private final Calls calls;
    private final Inbound inbound;
    private final SessionEnd end;
    private final SessionSweep sweep;

    public LiveSession(SessionHost host, String principal, RecordState.Seed seed) {
        this.core = new SessionCore(new Owner(), host, principal, seed);
        this.answers = new Answers(core);
        this.identity = new ServerIdentity(core, answers);
        this.outbound = new Outbound(core, answers);
        this.readers = new Readers(core);
        this.calls = new Calls(core, answers, readers);
        this.backend = new BackendSlot(core, outbound, readers, calls, identity);
        this.inbound = new Inbound(core, backend, answers, outbound, identity);
        this.end = new SessionEnd(core, answers, outbound, backend, readers);
        this.sweep = new SessionSweep(core, calls, end, backend, readers);
    }

    /** Hands what is decided below to the part that acts on it. */
    private final class Owner implements SessionOwner {
        @Override
        public void committed(Pending pending, Step step) {
            outbound.committed(pending, step);
        }

        @Override
        public void refused(Pending pending, Step step) {
            outbound.refused(pending, step);
        }

        @Override
        public void doubtful(Throwable failure, Step step) {
            outbound.doubtful(failure, step);
        }

        @Override
        public void concluding(Step step) {
            outbound.concluding(step);
        }

        @Override
        public void questionDropped(RequestId question, Step step) {
            outbound.questionDropped(question, step);
        }

        @Override
        public void end(EndReason reason) {
            end.end(reason);
        }

        @Override
        public void closed(Lifecycle.Move move) {
            end.closed(move);
        }

        @Override
        public String id() {
            return core.id();
        }

        @Override
        public void dispatch(LiveCall call, Executor caller) {
            if (call.initializes()) {
                calls.follow(call);
                caller.execute(() -> inbound.initialize(call.requests().get(0)));
            } else {
                calls.dispatch(call, caller).ifPresent(backend::use);
            }
        }

        @Override
        public CompletionStage<Void> send(CallRequest.Held held, OutboundMessage message) {
            return outbound.send(held, message);
        }

        @Override
        public void disconnect(CallRequest.Held held, Duration retry) {
            readers.disconnect(held, retry);
        }

        @Override
        public void accepted(InboundMessage request, int incarnation, Step step) {
            new CatchUp(core, backend).after(incarnation, request, step);
        }

        @Override
        public void answer(int incarnation, InboundMessage response) {
            inbound.answer(incarnation, response);
        }

        @Override
        public CallWatch watch(InboundMessage request, boolean again) {
            CallWatch watch = core.host().telemetry().started(LiveSession.this, request);
            return AccessLog.tellsCalls()
                    ? new Telemetry.Guarded(AccessLog.follow(
                            core.shortId(), core.principal(), core.host().messages(), core::now, request, again, watch))
                    : watch;
        }
    }

    /** How it begins, or comes back. */
    public SessionOpening opening() {
        return new SessionOpening(core, answers, identity, backend);
    }

    /** What it shows to the nodes that have it too. */
    public SessionReplica replica() {
        return new SessionReplica(core, readers, backend, opening());
    }

    public SessionKey key() {
        return core.key();
    }

    public String principal() {
        return core.principal();
    }

    /** Its life, which changes by compare-and-set. */
    public Lifecycle lifecycle() {
        return core.lifecycle();
    }

    /** How it ends, or leaves memory to come back. */
    public SessionEnd end() {
        return end;
    }

    @Override
    public String id() {
        return core.id();
    }

    @Override
    public String shortId() {
        return core.shortId();
    }

    @Override
    public String revision() {
        return core.revision();
    }

    @Override
    public boolean listensOnly() {
        return core.listensOnly();
    }

    @Override
    public SessionState state() {
        return core.lifecycle().state().phase();
    }

    /** A request for this session came; false if it came too late. */
    public boolean touch() {
        return core.alive(core.lifecycle().touch(core.now()));
    }

    private boolean visit() {
        return core.alive(core.lifecycle().visit(core.now()));
    }

    @Override
    public CompletionStage<Call.Outcome> call(List<InboundMessage> requests) {
        return calls.call(requests);
    }

    @Override
    public CompletionStage<Optional<Refusal>> notify(InboundMessage notification) {
        return visit() ? inbound.notify(notification) : inbound.refusedFor(core.ended());
    }

    /**
     * Lets a call of another node begin here.
     *
     * @param number that of its stream, which no other stream of the session has
     * @param behind the cancellations that had come before it, where it came in
     */
    public CompletionStage<Call.Outcome> call(List<InboundMessage> requests, long number, List<Long> behind) {
        return calls.call(requests, number, behind);
    }

    /** Lets a call begin here that was on its way; those of its requests that are cancelled do not run. */
    public CompletionStage<Call.Outcome> call(CallOnItsWay call) {
        return calls.call(call);
    }

    /**
     * A call that was taken here is not dispatched after all, and its client, who will not read it, is to hear that in another way. False
     * if it has ended already, or has an answer on its way into the log: then its client reads that.
     */
    public boolean callOff(LiveCall call) {
        return calls.callOff(call);
    }

    /** Puts what a notification says of the client into the journal; the backend, which is on another node, has yet to hear of it. */
    public CompletionStage<Optional<Refusal>> journal(InboundMessage notification) {
        return visit() ? inbound.journal(notification) : inbound.refusedFor(core.ended());
    }

    @Override
    public CompletionStage<Boolean> answer(InboundMessage response) {
        return visit() && inbound.answer(response) ? TAKEN : DROPPED;
    }

    @Override
    public CompletionStage<Void> cancel(RequestId request, InboundMessage notification) {
        cancel(new Cancellation(request, notification, Cancellation.ONCE, Cancellation.ANY));
        return SessionLog.DONE;
    }

    /**
     * The same for a cancellation that may come more than once.
     *
     * @return the number by which other nodes know the call that was found, {@link Cancellation#ANY} where none does
     */
    public OptionalLong cancel(Cancellation cancellation) {
        visit();
        return calls.cancel(cancellation);
    }

    @Override
    public CompletionStage<Resume> listen() {
        return CompletableFuture.completedFuture(readers.listen());
    }

    @Override
    public CompletionStage<Resume> resume(EventId after) {
        return CompletableFuture.completedFuture(readers.resume(after));
    }

    @Override
    public CompletionStage<Void> terminate() {
        return end.terminate();
    }

    /** Sends a notification that no backend has sent; nothing is sent where the session is leaving. */
    public CompletionStage<Void> tell(OutboundMessage notification) {
        return outbound.tell(notification);
    }

    /**
     * Looks whether time has ended something.
     *
     * @param parkNanos how long a client may be away before its session leaves memory
     */
    public void sweep(long now, long parkNanos) {
        sweep.sweep(now, parkNanos);
    }

    /** Whether a client reads its listening stream, on whatever node. */
    public boolean listening() {
        return readers.listening();
    }

    /** Lets its backend go, if nobody uses it; it gets a fresh one when it is used again. False if somebody does, or there is none. */
    public boolean releaseBackend() {
        return backend.release();
    }

    public boolean read() {
        return core.look(() ->
                core.streams().all().stream().anyMatch(stream -> stream.reader().isPresent()));
    }

    /** Cuts its connections, whatever they have yet to write. */
    public void cut() {
        readers.cut();
    }

    public long weight() {
        return core.weight();
    }

    public long events() {
        return core.look(() -> (long) core.streams().retention().events());
    }

    public SessionDescription described() {
        Lifecycle.State state = core.lifecycle().state();
        Duration age = Duration.ofNanos(core.now() - core.since());
        return core.look(() -> new SessionDescription(
                core.shortId(),
                state.phase(),
                core.revision(),
                core.principal(),
                age,
                state.readers(),
                core.requests().running(),
                core.streams().retention().weight(),
                core.streams().retention().events()));
    }

    /** Drops until it keeps no more than this; false if the rest must not be dropped. */
    public boolean shorten(long mostBytes, long mostEvents) {
        return core.step(step -> {
            boolean done = core.streams().retention().shortenTo(mostBytes, mostEvents, step);
            core.outbox().flush(step);
            return done;
        });
    }

    public boolean owesResponses() {
        return core.look(core.streams()::owing);
    }

    /** What its parts share; for tests. */
    public SessionCore core() {
        return core;
    }
}
