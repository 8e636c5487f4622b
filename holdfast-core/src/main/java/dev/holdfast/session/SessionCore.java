package dev.holdfast.session;

import dev.holdfast.EndReason;
import dev.holdfast.Lifetime;
import dev.holdfast.Refusal;
import dev.holdfast.log.EngineClock;
import dev.holdfast.log.Epochs;
import dev.holdfast.log.LazyQueue;
import dev.holdfast.log.Outbox;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.Step;
import dev.holdfast.log.Streams;
import dev.holdfast.session.Lifecycle.Move;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the parts of a session share: its name, its life, its log and streams, its open requests, its journal and its record. All
 * but the name and the life is read and changed under its lock.
 */
public final class SessionCore {
    static final int INTERNAL_ERROR = -32603;
    private static final String LOST = "the response to this request is lost: the session store has it no more";

    private final SessionOwner owner;
    private final SessionHost host;
    private final EngineClock clock;
    private final String principal;
    private final Lifetime lifetime;
    private final boolean listensOnly;
    private final Lifecycle lifecycle;
    private final RecordState record;
    private final Journal journal;
    private final OpenRequests requests = new OpenRequests();
    private final SessionLog log;
    private final Streams streams;
    /** Questions that no client will answer any more, and whose askers do not know it yet. */
    private final LazyQueue<OpenRequests.Question> givenUp = new LazyQueue<>();

    private final long since;
    private final boolean returned;

    private boolean takenOver;
    private volatile @Nullable SessionKey key;
    private volatile String id = "";
    private volatile String revision = "";

    SessionCore(SessionOwner owner, SessionHost host, String principal, RecordState.Seed seed) {
        this.owner = owner;
        this.host = host;
        this.clock = host.clock();
        this.principal = principal;
        this.lifetime = seed.lifetime();
        this.listensOnly = seed.listensOnly();
        this.since = clock.now();
        this.returned = seed.epoch().counter() > 1;
        this.lifecycle = new Lifecycle(lifetime, clock);
        this.record = new RecordState(host.wallClock(), seed, host.cluster().born(seed), host.durable());
        this.log = new SessionLog(
                host.store(), host.cluster().writer(), new Epochs(seed.epochs(), seed.certainFrom()), owner);
        boolean forgetful = listensOnly && lifetime.grace().isZero();
        this.streams = new Streams(host.streams(), lifetime, log, forgetful);
        this.journal = new Journal(host.limits(), requests, this::hold);
    }

    <T> T step(Function<Step, T> decision) {
        return log.step(decision);
    }

    void run(Consumer<Step> decision) {
        log.run(decision);
    }

    <T> T look(Supplier<T> question) {
        return log.look(question);
    }

    void name(String name) {
        id = name;
        key = SessionKey.of(name, principal);
    }

    /** The backend has accepted the session in this revision: one of a few, of which each session would keep a copy. */
    void negotiated(String accepted) {
        revision = accepted.intern();
    }

    /** What the access log tells of it now. */
    AccessLog.Subject told() {
        MessageFactory.Client client = look(journal::introduction)
                .map(message -> host.messages().client(message.bytes()))
                .orElse(MessageFactory.Client.UNKNOWN);
        return new AccessLog.Subject(
                shortId(), revision, principal, listensOnly, client, look(requests::begun), since, now());
    }

    SessionOwner owner() {
        return owner;
    }

    SessionHost host() {
        return host;
    }

    EngineClock clock() {
        return clock;
    }

    /** Nanoseconds of the engine's clock. */
    long now() {
        return clock.now();
    }

    String principal() {
        return principal;
    }

    /** When it came into memory, in nanoseconds of the engine's clock. */
    long since() {
        return since;
    }

    Lifetime lifetime() {
        return lifetime;
    }

    boolean listensOnly() {
        return listensOnly;
    }

    boolean outlives() {
        return host.durable() && !lifetime.grace().isZero();
    }

    /**
     * Whether a call may be run again after a death of this process, where its backend says that it does no harm. Not where a call
     * belongs on the thread of its request, which is gone with the process.
     */
    boolean reruns() {
        return outlives() && !host.backend().executesImmediately();
    }

    Lifecycle lifecycle() {
        return lifecycle;
    }

    RecordState record() {
        return record;
    }

    Journal journal() {
        return journal;
    }

    OpenRequests requests() {
        return requests;
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
        if (requests.running() + more > host.limits().runningCalls()) {
            return Optional.of(Refusal.SESSION_CALLS);
        }
        return host.noRoomFor(principal(), more);
    }

    public SessionLog log() {
        return log;
    }

    Outbox outbox() {
        return log.outbox();
    }

    public Streams streams() {
        return streams;
    }

    LazyQueue<OpenRequests.Question> givenUp() {
        return givenUp;
    }

    SessionKey key() {
        return Objects.requireNonNull(key, "the session has no name yet");
    }

    String id() {
        return id;
    }

    String shortId() {
        return id.length() <= 8 ? id : id.substring(0, 8);
    }

    String revision() {
        return revision;
    }

    /** It keeps so many more bytes, or fewer, beside the messages for its client. */
    void hold(Step step, long moreBytes) {
        streams.retention().hold(moreBytes, step);
    }

    /** Somebody else has claimed it, or may have. */
    void takenOver(Step step) {
        takenOver = true;
    }

    boolean isTakenOver() {
        return look(() -> takenOver);
    }

    long weight() {
        return look(streams.retention()::weight);
    }

    /** How many bytes it leaves in the store when it is parked; where any node restores it, its journal may be there already. */
    long leaves() {
        return returned && host.cluster().anyNodeRestores() ? look(streams.retention()::bytes) : weight();
    }

    /** Ends it, unless it has ended. Not called under the lock. */
    void end(EndReason reason) {
        owner.end(reason);
    }

    /** Does what a move demands, not under the lock; false if it leaves the session closed. */
    boolean alive(Move move) {
        if (move.closes()) {
            owner.closed(move);
        } else if (move.reconnects()) {
            host.telemetry().reconnected(id);
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
    List<OutboundMessage> lostErrors(Collection<RequestId> unanswered) {
        return errors(unanswered, LOST);
    }

    private List<OutboundMessage> errors(Collection<RequestId> unanswered, String cause) {
        return unanswered.stream()
                .map(request -> host.messages().error(request, INTERNAL_ERROR, cause))
                .toList();
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
}
