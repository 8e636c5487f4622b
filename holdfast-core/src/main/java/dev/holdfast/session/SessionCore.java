package dev.holdfast.session;

import dev.holdfast.CallWatch;
import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.Refusal;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.Epochs;
import dev.holdfast.log.KeptEvent;
import dev.holdfast.log.Outbox;
import dev.holdfast.log.Pending;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.log.StoreQuestion.LeaseLostException;
import dev.holdfast.log.Streams;
import dev.holdfast.session.Lifecycle.Move;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import dev.holdfast.spi.UnreadableSessionException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the parts of a session share: its name, its life, its log and streams, its open requests, its journal and its record, and what
 * a commit, or the lack of one, changes in them. All but the name and the life is read and changed under its lock. What it asks of
 * its parts is answered by {@link LiveSession}, and is called without the lock where it takes no {@link Step}.
 */
public abstract class SessionCore {
    static final int INTERNAL_ERROR = -32603;
    private static final Logger logger = LoggerFactory.getLogger(SessionCore.class);
    /** Each node that has the session gets a cancellation, and more than once. */
    private static final int MOST_CANCELLATION_BYTES = 4 << 10;

    private static final String LOST = "the response to this request is lost: the session store has it no more";
    private static final String GIVEN_UP = "the client has not answered, and too much waits for it";
    /** After so many failures of the store the pause does not grow any more: 3.2 s. */
    private static final int GROWING = 6;

    private static final long FIRST_DELAY_MILLIS = 50;

    final SessionHost host;
    final EngineClock clock;
    final String principal;
    final Lifetime lifetime;
    final String kind;
    final boolean listensOnly;
    final Lifecycle lifecycle;
    final RecordState record;
    final Journal journal;
    final OpenRequests requests = new OpenRequests();
    final SessionLog log;
    final Outbox outbox;
    final Streams streams;

    /** When it came into memory, in nanoseconds of the engine's clock. */
    final long since;

    private final boolean returned;
    private boolean takenOver;
    private volatile @Nullable SessionKey key;
    private volatile String id = "";
    private volatile String revision = "";

    SessionCore(SessionHost host, String principal, RecordState.Seed seed) {
        this.host = host;
        this.clock = host.clock;
        this.principal = principal;
        this.lifetime = seed.lifetime();
        this.kind = seed.kind();
        this.listensOnly = kind.equals(SessionRecord.LISTENING_SESSION);
        this.since = clock.now();
        this.returned = seed.epoch().counter() > 1;
        this.lifecycle = new Lifecycle(lifetime, clock);
        this.record = new RecordState(host.wallClock, seed, host.cluster().born(seed), host.durable);
        this.log = new SessionLog(
                host.store(), host.cluster().writer(), new Epochs(seed.epochs(), seed.certainFrom()), new LogOwner());
        this.outbox = log.outbox();
        boolean forgetful = listensOnly && lifetime.grace().isZero();
        this.streams = new Streams(host.streams, lifetime, log, forgetful);
        this.journal = new Journal(host.limits, requests, this::hold);
    }

    /** Ends it, unless it has ended. */
    public abstract void end(EndReason reason);

    /** Lets everything go that this move has closed. */
    abstract void closed(Move move);

    /** Hands the requests of a call to the backend, by one task on an executor. */
    abstract void dispatch(LiveCall call, Executor caller);

    /** Appends to the stream of a call what an incarnation of the backend sends for a request that is in its hands. */
    abstract CompletionStage<Void> send(LiveCall.Held held, OutboundMessage message);

    /** Appends a note to the stream of a call; completes with whether it was. */
    abstract CompletionStage<Boolean> note(LiveCall call, OutboundMessage note);

    /** Sends the client of a request away for a while, if the request is in these hands. */
    abstract void disconnect(LiveCall.Held held, Duration retry);

    /** Answers a question of this incarnation of the backend, if that is still there. */
    abstract void answer(int incarnation, InboundMessage response);

    /** Finds out who follows a request from now on. */
    abstract CallWatch watch(InboundMessage request, boolean again);

    /** An incarnation of the backend has accepted a request that has changed the session's journal. */
    abstract void accepted(InboundMessage request, int incarnation, Step step);

    void name(String name) {
        id = name;
        key = SessionKey.of(name, principal);
    }

    /** The backend has accepted the session in this revision: one of a few, of which each session would keep a copy. */
    void negotiated(String accepted) {
        revision = accepted.intern();
    }

    public SessionKey key() {
        return Objects.requireNonNull(key, "the session has no name yet");
    }

    public String id() {
        return id;
    }

    public String shortId() {
        return Telemetry.shortened(id);
    }

    public String revision() {
        return revision;
    }

    public String kind() {
        return kind;
    }

    public boolean listensOnly() {
        return listensOnly;
    }

    public String principal() {
        return principal;
    }

    /** Its life, which changes by compare-and-set. */
    public Lifecycle lifecycle() {
        return lifecycle;
    }

    public SessionLog log() {
        return log;
    }

    public Streams streams() {
        return streams;
    }

    /** What the access log tells of it now. */
    AccessLog.Subject told() {
        return new AccessLog.Subject(
                shortId(), revision, principal, listensOnly, client(), log.look(requests::begun), since, clock.now());
    }

    /** What its client says of itself, read anew. */
    MessageFactory.Client client() {
        return log.look(journal::initialized)
                .map(message -> host.messages.client(message.bytes()))
                .orElse(MessageFactory.Client.UNKNOWN);
    }

    boolean outlives() {
        return host.durable && !lifetime.grace().isZero();
    }

    /**
     * Whether a call may be run again after a death of this process, where its backend says that it does no harm. Not where a call
     * belongs on the thread of its request, which is gone with the process.
     */
    boolean reruns() {
        return outlives() && !host.backend.executesImmediately();
    }

    /** A request in these hands is gone on with by another one, should this process die before it is answered. */
    void continueBy(LiveCall.Held held, InboundMessage other) {
        LiveCall.Request request = held.request;
        RecordChange change = new RecordChange.CallStarted(
                request.call.id, List.of(request.id()), Rerun.goingOn(other).pack());
        log.run(now -> outbox.whenOpen(now, step -> {
            if (reruns() && request.call.requests.size() == 1 && request.isHeldBy(held) && request.open()) {
                boolean before = request.call.rerunnable();
                request.call.mayBeRerun(step);
                keep(request.call, change, before, step);
            }
        }));
    }

    /**
     * Has noted for the next run of a call what its client has answered.
     *
     * @return whether it is on its way into the log
     */
    boolean keepAnswer(LiveCall call, OpenRequests.Question question, InboundMessage answer, Step step) {
        if (question.ping() || !call.rerunnable()) {
            return false;
        }
        KeptEvent node = question.node();
        Optional<RecordChange> change = call.keepAnswer(
                host.messages
                        .answer(answer.requiredId(), answer.bytes())
                        .flatMap(given -> host.messages.asked(node.event.bytes()))
                        // answers are given in the order of questions: none before an equal one that is older
                        .filter(asked -> requests.askedFor(call).stream()
                                .filter(other -> other.event.offset() < node.event.offset())
                                .flatMap(other -> host.messages.asked(other.event.bytes()).stream())
                                .noneMatch(other -> Arrays.equals(asked, other)))
                        .map(asked -> new Rerun.Answer(asked, answer.bytes())),
                step);
        change.ifPresent(with -> keep(call, with, true, step));
        return change.isPresent();
    }

    /**
     * Has the record of a call changed. What is too large for the store is forgotten: it would be refused for ever.
     *
     * @param before whether the call could be run again without that
     */
    private void keep(LiveCall call, RecordChange change, boolean before, Step now) {
        outbox.whenOpen(now, step -> {
            if (!call.answered()) {
                outbox.add(
                        new Pending(null, List.of(change)) {
                            @Override
                            public void again(Step next) {
                                if (!(failure() instanceof TooLargeException)) {
                                    keep(call, change, before, next);
                                } else if (!before) {
                                    call.isNotRerun(next);
                                }
                            }
                        },
                        step);
            }
        });
    }

    /**
     * The first id that must not come now. A call is known by its stream, and its id may be in use; not where the answers
     * to all calls come on one stream, and their ids are all that tells them apart.
     */
    Optional<RequestId> duplicate(List<InboundMessage> messages) {
        Optional<RequestId> repeated = OpenRequests.repeated(messages);
        return repeated.isPresent() || !listensOnly ? repeated : requests.inFlight(messages);
    }

    /** Why so many more requests must not be in flight now, if so. */
    Optional<Refusal> noRoomFor(int more) {
        if (requests.running() + more > host.limits.runningCalls()) {
            return Optional.of(Refusal.SESSION_CALLS);
        }
        return host.running.refusal(principal, more);
    }

    /** It keeps so many more bytes, or fewer, beside the messages for its client. */
    void hold(Step step, long moreBytes) {
        streams.hold(moreBytes, step);
    }

    /** Somebody else has claimed it, or may have. */
    void takenOver(Step step) {
        takenOver = true;
    }

    boolean isTakenOver() {
        return log.look(() -> takenOver);
    }

    public long weight() {
        return log.look(streams::weight);
    }

    /** How many bytes it leaves in the store when it is parked; where any node restores it, its journal may be there already. */
    long leaves() {
        return returned && host.cluster().anyNodeRestores() ? log.look(streams::bytes) : weight();
    }

    /** Has done, behind the step, what a move demands; false if it leaves the session closed. */
    boolean alive(Move move, Step step) {
        if (!move.quiet()) {
            step.then(() -> alive(move));
        }
        return !move.leavesClosed();
    }

    /** Does what a move demands, not under the lock; false if it leaves the session closed. */
    boolean alive(Move move) {
        if (move.quiet()) {
            return true;
        }
        if (move.closes()) {
            closed(move);
        } else if (move.reconnects()) {
            host.telemetry.reconnected(id);
        }
        return !move.leavesClosed();
    }

    boolean endsEverywhere(EndReason why) {
        return host.cluster().endsEverywhere(why, listensOnly);
    }

    /** Whether a session that has ended so can be found in the store again. */
    boolean leavesToStore(EndReason why) {
        return host.cluster().leavesToStore(why, listensOnly);
    }

    /**
     * What the client of a call is told when its session has ended and no store takes the answer any more: an error for each request
     * without one, which has no place in its stream, and so no id. Nothing where the session can be found again: there its calls go on,
     * or are ended. Takes no lock.
     */
    List<OutboundMessage> finalErrors(Collection<RequestId> unanswered, EndReason why) {
        return leavesToStore(why) ? List.of() : errors(unanswered, ended(why));
    }

    /** What the client is told in the place of answers that the store has lost; takes no lock. */
    public List<OutboundMessage> lostErrors(Collection<RequestId> unanswered) {
        return errors(unanswered, LOST);
    }

    private List<OutboundMessage> errors(Collection<RequestId> unanswered, String cause) {
        return unanswered.stream()
                .map(request -> host.messages.error(request, INTERNAL_ERROR, cause))
                .toList();
    }

    /** What a question of the backend gets in the place of the client's answer. */
    InboundMessage errorFor(RequestId question, String cause) {
        byte[] error = host.messages.error(question, INTERNAL_ERROR, cause).bytes();
        return new InboundMessage(
                InboundMessage.Kind.RESPONSE, question, "", error, JournalChange.NONE, InboundMessage.NO_CONTEXT);
    }

    /** What ends all calls of a session that has ended. */
    static String ended(EndReason why) {
        return "the session has ended: " + why.text();
    }

    /**
     * How it ends here when its node has lost its lease: what the store has of it waits there for whoever is asked for it, unless it was
     * to end with its connections.
     */
    EndReason endWithLease() {
        return outlives() ? EndReason.PARKED : EndReason.DISCONNECTED;
    }

    public EndReason ended() {
        EndReason reason = lifecycle.state().end();
        return reason == null ? EndReason.EXPIRED : reason;
    }

    /** What the store has of it will never be readable: it ends on every node. */
    public void unreadable(Throwable why) {
        if (!lifecycle.closed()) {
            host.telemetry.unreadable(id, why);
            end(EndReason.RESTORE_FAILED);
        }
    }

    public Epoch epoch() {
        return log.look(log::epoch);
    }

    /** Whether the stream of a call is written here. */
    public boolean writes(StreamId stream) {
        return !stream.equals(StreamId.LISTENING) && log.look(() -> isWritten(stream));
    }

    /** The answers to a call may go to the listening stream. */
    boolean isWritten(StreamId stream) {
        return streams.find(stream).isPresent()
                || requests.all().stream().anyMatch(request -> request.call.id.equals(stream));
    }

    /** Gets an epoch that is newer than all others; completes with whether it has one. */
    public CompletionStage<Boolean> renew() {
        return log.renew(host.random.nextInt());
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
        log.run(step -> {
            if (outbox.open()) {
                outbox.add(nothing, step);
            }
        });
        log.stageOf(nothing).thenCompose(kept -> renew());
    }

    /** What other nodes hear of a cancellation: of one that says much, no more than which request it is. */
    public Cancellation toldElsewhere(Cancellation cancellation) {
        if (cancellation.notification().bytes().length <= MOST_CANCELLATION_BYTES) {
            return cancellation;
        }
        MessageFactory messages = host.messages;
        InboundMessage notification =
                messages.read(messages.cancelled(cancellation.request(), "the client has cancelled it")
                        .bytes());
        return new Cancellation(cancellation.request(), notification, cancellation.number(), cancellation.call());
    }

    /** What a question gets in the place of a client's answer that is too large to reach the node that has asked. */
    public InboundMessage tooLarge(InboundMessage response) {
        return errorFor(response.requiredId(), "the client's answer is too large for the session store");
    }

    /** The client cancels a request: if it is on its way from here, it is not sent any more. */
    public void cancelOnItsWay(Cancellation cancellation) {
        log.run(step -> requests.cancelOnItsWay(cancellation, step));
    }

    public boolean draining() {
        return host.draining();
    }

    /** Its epoch was fenced: nothing is written here any more, and clients come back, to whatever node. */
    public void fenced() {
        Epoch present = epoch();
        abandon(new StaleEpochException(present, present), EndReason.TAKEN_OVER);
    }

    /** This node has lost its lease: the same, but nobody has to have taken the session over. */
    public void leaseLost() {
        abandon(new LeaseLostException(), endWithLease());
    }

    private void abandon(RuntimeException cause, EndReason why) {
        log.run(step -> {
            takenOver(step);
            outbox.fence(cause, step);
            step.end(why);
        });
    }

    /** Tells whoever has asked that nobody will answer: behind the readers and senders of this step, for it may go on working here. */
    void giveUp(OpenRequests.Question question, Step step) {
        RequestId asked = Objects.requireNonNull(question.node().event.id());
        step.thenLast(() -> answer(question.incarnation(), errorFor(asked, GIVEN_UP)));
    }

    /**
     * What becomes of the session with its log. A log whose append has failed is brought back: by a claim at once, then by further ones
     * with growing pauses, until an append succeeds or the session ends. After a few seconds nobody waits any longer for what is in doubt.
     */
    private final class LogOwner implements SessionLog.Owner {
        /** How often in a row the store has failed. */
        private int failures;

        @Override
        public void committed(Pending pending, Step step) {
            failures = 0;
            host.storeWorks(true);
            KeptEvent event = pending.event();
            if (event != null && !streams.commit(event, step)) {
                step.end(EndReason.OVERFLOW);
            }
            pending.committed(step);
            if (event != null) {
                event.stream.reader().ifPresent(step::then);
            }
        }

        @Override
        public void refused(Pending pending, Step step) {
            KeptEvent event = pending.event();
            if (event == null) {
                return;
            }
            streams.rollback(event, step);
            RequestId asked = event.event.id();
            if (asked != null && EventKind.asks(event.event.kind())) {
                requests.answered(asked, step);
            }
            pending.refused(step);
            event.stream.reader().ifPresent(step::then);
        }

        @Override
        public void questionDropped(RequestId question, Step step) {
            requests.answered(question, step).ifPresent(dropped -> giveUp(dropped, step));
        }

        @Override
        public void makeRoom() {
            host.makeRoom();
        }

        @Override
        public void end(EndReason reason) {
            SessionCore.this.end(reason);
        }

        @Override
        public void doubtful(Throwable failure, Step step) {
            boolean lost = failure instanceof LeaseLostException;
            if (lost || (failure instanceof StaleEpochException && host.shared)) {
                takenOver(step);
                outbox.dismissWaiting(step);
                step.end(lost ? endWithLease() : EndReason.TAKEN_OVER);
            } else {
                // in a store that nobody shares, it is a claim of this engine's own that has happened late
                step.then(() -> recover(failure));
            }
        }

        /** The store has failed, or has failed to help. */
        private void recover(Throwable failure) {
            Throwable cause = StoreQuestion.causeOf(failure);
            if (cause instanceof UnreadableSessionException) {
                host.telemetry.unreadable(id, failure);
                end(EndReason.RESTORE_FAILED);
                return;
            }
            int attempt = log.look(() -> ++failures);
            if (cause == null || !host.cluster().saidByStore(cause)) {
                host.storeWorks(false);
            }
            if (attempt == 1) {
                claim();
                return;
            }
            if (attempt == GROWING) {
                host.telemetry.storeFails(id, failure);
            }
            if (attempt >= GROWING) {
                log.run(outbox::dismissWaiting);
            }
            host.later(this::claim, FIRST_DELAY_MILLIS << Math.min(attempt, GROWING));
        }

        private void claim() {
            if (lifecycle.closed()) {
                log.run(outbox::dismissWaiting);
                return;
            }
            log.claim(host.random.nextInt()).whenComplete((found, failure) -> {
                if (failure != null) {
                    recover(failure);
                } else if (!found) {
                    end(missing());
                }
            });
        }

        /** Why the store does not have the session: a store that goes by a wall clock may have let it expire. */
        private EndReason missing() {
            if (log.look(record::expiresAt) <= host.wallClock.millis()) {
                return EndReason.EXPIRED;
            }
            EndReason why = host.cluster().missing();
            if (why == EndReason.STORE_FAILED) {
                logger.error("session {}: the store has lost it", shortId());
            } else {
                logger.warn("session {}: the store has it no more; another node has ended it", shortId());
            }
            return why;
        }
    }
}
