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
import dev.holdfast.log.LiveStream;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** A session in memory: what the edge and the engine do to it. It puts the parts together; what they share is the core. */
public final class LiveSession extends SessionCore implements Session {
    private static final CompletionStage<Boolean> DROPPED = CompletableFuture.completedFuture(false);

    private final Outbound outbound;
    private final Readers readers;
    private final BackendSlot backend;
    private final Calls calls;
    private final Inbound inbound;
    private final SessionEnd end;

    public LiveSession(SessionHost host, String principal, RecordState.Seed seed) {
        super(host, principal, seed);
        this.outbound = new Outbound(this);
        this.readers = new Readers(this);
        this.calls = new Calls(this, outbound, readers);
        this.backend = new BackendSlot(this, outbound, readers, calls);
        this.inbound = new Inbound(this, backend, outbound);
        this.end = new SessionEnd(this, calls, outbound, backend, readers);
    }

    @Override
    public void end(EndReason reason) {
        end.end(reason);
    }

    @Override
    void closed(Lifecycle.Move move) {
        end.closed(move);
    }

    @Override
    void dispatch(LiveCall call, Executor caller) {
        if (call.initializes) {
            calls.follow(call);
            caller.execute(() -> inbound.initialize(call.requests.get(0)));
            return;
        }
        BackendUser use = calls.dispatch(call, caller);
        if (!host.shared || host.cluster().mayWrite()) {
            backend.use(use);
        } else {
            log.run(step -> {
                use.comes(step);
                use.turnAway("its node has lost its lease", step);
            });
        }
    }

    @Override
    CompletionStage<Void> send(LiveCall.Held held, OutboundMessage message) {
        return outbound.send(held, message);
    }

    @Override
    CompletionStage<Boolean> note(LiveCall call, OutboundMessage note) {
        return outbound.note(call, note);
    }

    @Override
    void disconnect(LiveCall.Held held, Duration retry) {
        readers.disconnect(held, retry);
    }

    @Override
    void accepted(InboundMessage request, int incarnation, Step step) {
        new CatchUp(this, backend).after(incarnation, request, step);
    }

    @Override
    void answer(int incarnation, InboundMessage response) {
        inbound.answer(incarnation, response);
    }

    @Override
    CallWatch watch(InboundMessage request, boolean again) {
        CallWatch watch = host.telemetry.started(this, request);
        return AccessLog.tellsCalls()
                ? host.telemetry.access.follow(shortId(), principal, host.messages, clock::now, request, again, watch)
                : watch;
    }

    /** How it begins, or comes back. */
    public SessionOpening opening() {
        return new SessionOpening(this, outbound, backend);
    }

    /** Who reads its streams, here and elsewhere, and how far. */
    public Readers readers() {
        return readers;
    }

    /** How its backend gets what has changed on other nodes. */
    public CatchUp catchUp() {
        return new CatchUp(this, backend);
    }

    /** How it ends, or leaves memory to come back. */
    public SessionEnd end() {
        return end;
    }

    @Override
    public SessionState state() {
        return lifecycle.state().phase();
    }

    /** A request for this session came; false if it came too late. */
    public boolean touch() {
        return alive(lifecycle.touch(clock.now()));
    }

    private boolean visit() {
        return alive(lifecycle.visit(clock.now()));
    }

    @Override
    public CompletionStage<Call.Outcome> call(List<InboundMessage> requests) {
        return calls.call(requests, Calls.NEXT_NUMBER, Optional.empty(), Optional.empty());
    }

    @Override
    public CompletionStage<Optional<Refusal>> notify(InboundMessage notification) {
        return visit() ? inbound.notify(notification) : inbound.refusedFor(ended());
    }

    /**
     * Lets a call of another node begin here.
     *
     * @param number that of its stream, which no other stream of the session has
     * @param behind the cancellations that had come before it, where it came in
     */
    public CompletionStage<Call.Outcome> call(List<InboundMessage> requests, long number, List<Long> behind) {
        return calls.call(requests, number, Optional.of(behind), Optional.empty());
    }

    /** Lets a call begin here that was on its way; those of its requests that are cancelled do not run. */
    public CompletionStage<Call.Outcome> call(CallOnItsWay call) {
        return calls.call(call.requests(), Calls.NEXT_NUMBER, Optional.of(call.behind()), Optional.of(call));
    }

    /**
     * A call that was taken here is not dispatched after all, and its client, who will not read it, is to hear that in another way. False
     * if it has ended already, or has an answer on its way into the log: then its client reads that.
     */
    public boolean callOff(LiveCall call) {
        return calls.callOff(call);
    }

    /** The store takes nothing, and may go on so for long: no client waits for what is on its way. */
    public void dismissClients(Throwable cause) {
        log.run(step -> calls.refuseUnstarted(cause, step));
    }

    /** Puts what a notification says of the client into the journal; the backend, which is on another node, has yet to hear of it. */
    public CompletionStage<Optional<Refusal>> journal(InboundMessage notification) {
        return visit() ? inbound.journal(notification) : inbound.refusedFor(ended());
    }

    @Override
    public CompletionStage<Boolean> answer(InboundMessage response) {
        return visit() ? inbound.answer(response) : DROPPED;
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
    public CompletionStage<Optional<KeptStream>> kept(StreamId stream) {
        return CompletableFuture.completedFuture(keptHere(stream));
    }

    /** What is kept of a stream that is written here. */
    public Optional<KeptStream> keptHere(StreamId stream) {
        return log.look(() -> streams.find(stream).map(LiveStream::asKept));
    }

    @Override
    public boolean crowded() {
        return log.look(streams::crowded);
    }

    @Override
    public CompletionStage<Void> terminate() {
        return end.terminate();
    }

    /** Sends a notification that no backend has sent; nothing is sent where the session is leaving. */
    public CompletionStage<Void> tell(OutboundMessage notification) {
        return outbound.tell(notification);
    }

    /** Lets its backend go, if nobody uses it; it gets a fresh one when it is used again. False if somebody does, or there is none. */
    public boolean releaseBackend() {
        return backend.release();
    }

    public boolean read() {
        return log.look(
                () -> streams.all().stream().anyMatch(stream -> stream.reader().isPresent()));
    }

    public long events() {
        return log.look(() -> (long) streams.events());
    }

    public SessionDescription described() {
        MessageFactory.Client client = client();
        return log.look(() -> described(client));
    }

    public SessionDescription.InDetail inDetail() {
        MessageFactory.Client client = client();
        return log.look(() -> new SessionDescription.InDetail(described(client), readers.described()));
    }

    private SessionDescription described(MessageFactory.Client client) {
        Lifecycle.State state = lifecycle.state();
        return new SessionDescription(
                shortId(),
                state.phase(),
                kind(),
                client,
                revision(),
                principal,
                Duration.ofNanos(clock.now() - since),
                state.readers(),
                requests.running(),
                streams.weight(),
                streams.events());
    }

    /** Drops until it keeps no more than this; false if the rest must not be dropped. */
    public boolean shorten(long mostBytes, long mostEvents) {
        return log.step(step -> {
            boolean done = streams.shortenTo(mostBytes, mostEvents, step);
            outbox.flush(step);
            return done;
        });
    }

    public boolean owesResponses() {
        return log.look(streams::owing);
    }
}
