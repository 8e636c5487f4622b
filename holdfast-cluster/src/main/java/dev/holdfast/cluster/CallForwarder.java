package dev.holdfast.cluster;

import dev.holdfast.Call;
import dev.holdfast.Refusal;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.StreamReader;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.CallOnItsWay;
import dev.holdfast.session.Cancellation;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveCall;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StreamId;
import dev.holdfast.spi.TooLargeException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands calls to the node that has the session's backend, where that exists once, through that node's inbox. A call that is not answered
 * is sent again after the length of a lease. If the node has died, the log decides: a call that it has started is read on, and ended or
 * run again; any other one is run as new, for a dead inbox is never read. A call that the node declines, because it drains or has just
 * left the session, waits until the backend may be opened elsewhere.
 *
 * <p>A call that was sent is refused only if the other node says that it has not taken it. Questions that fail are asked again; a node
 * that loses its lease meanwhile does not know what became of the call, and says so.
 */
final class CallForwarder {
    private static final long FIRST_PAUSE_MILLIS = 25;
    private static final long MOST_PAUSE_MILLIS = 500;
    private static final int MOST_DOUBLINGS = 5;
    /** Numbers begin at random, so that no two nodes give the same to calls of one session. */
    private static final long MOST_NUMBER = 1L << 40;

    /** With the pauses between them some 30 s: so long a call waits for a backend that nobody has to give. */
    private static final int MOST_ATTEMPTS = 64;

    private static final Logger logger = LoggerFactory.getLogger(CallForwarder.class);

    private final ClusterWriter store;
    private final Lease lease;
    private final Placement placement;
    private final JournalVersions versions;
    private final BackendInbox inbox;
    private final StreamWriters writers;
    private final SharedReaders readers;
    private final ClusterMembership.Host engine;
    private final AtomicLong numbers;
    private final Map<Long, CompletableFuture<Optional<NodeMessage>>> waiting = new ConcurrentHashMap<>();

    CallForwarder(
            ClusterWriter store,
            Placement placement,
            JournalVersions versions,
            BackendInbox inbox,
            StreamWriters writers,
            SharedReaders readers,
            ClusterMembership.Host engine) {
        this.store = store;
        this.lease = store.lease();
        this.placement = placement;
        this.versions = versions;
        this.inbox = inbox;
        this.writers = writers;
        this.readers = readers;
        this.engine = engine;
        this.numbers = new AtomicLong(engine.setting().random().nextLong(LiveCall.LEAST_NUMBER_ELSEWHERE, MOST_NUMBER));
    }

    /** A number that no node gives to anything else. */
    long nextNumber() {
        return numbers.incrementAndGet();
    }

    /** Runs a call where the backend is; until that is known to have it, the call is on its way. */
    CompletionStage<Call.Outcome> call(LiveSession session, List<InboundMessage> requests) {
        CallOnItsWay call = new CallOnItsWay(session, requests);
        Optional<Call.Outcome> refusal = call.begin();
        return refusal.isPresent()
                ? CompletableFuture.completedFuture(refusal.get())
                : StoreQuestion.ask(() -> call(session, call, 1)).whenComplete((outcome, failure) -> call.end());
    }

    /** Lets the backend hear a notification, wherever it is. */
    CompletionStage<Optional<Refusal>> notify(LiveSession session, InboundMessage notification) {
        return placement.of(session).thenCompose(place -> {
            if (place instanceof Placement.Here) {
                return inbox.notify(session, notification);
            }
            Optional<Member> host =
                    place instanceof Placement.There there ? Optional.of(there.member()) : Optional.empty();
            // what adds to the journal is written from here, and so gets to whatever backend comes next
            return notification.journal() instanceof JournalChange.Put
                    ? session.journal(notification)
                    : hand(session, notification, host);
        });
    }

    private CompletionStage<Optional<Refusal>> hand(
            LiveSession session, InboundMessage notification, Optional<Member> host) {
        if (host.isEmpty()) {
            return CompletableFuture.completedFuture(Optional.of(Refusal.DRAINING));
        }
        Epoch epoch = host.get().epoch();
        return store.bus()
                .send(host.get().node(), new NodeMessage.Notified(session.key(), epoch, notification).pack())
                .thenApply(sent -> sent ? Optional.<Refusal>empty() : Optional.of(Refusal.BACKEND))
                .exceptionallyCompose(failure -> isTooLarge(failure)
                        ? CompletableFuture.completedFuture(Optional.of(Refusal.BODY_SIZE))
                        : CompletableFuture.failedFuture(failure));
    }

    private CompletionStage<Call.Outcome> call(LiveSession session, CallOnItsWay call, int attempt) {
        if (call.wanted().isEmpty()) {
            // it ends where its client waits for it, and needs no backend
            return session.call(call);
        }
        return placement
                .of(session)
                .thenCompose(place -> place instanceof Placement.There there
                        ? listened(session).thenCompose(last -> forward(session, call, there.member(), attempt, last))
                        : session.call(call).thenCompose(outcome -> versions.catchUpFor(session, outcome)));
    }

    /** Looks again after a pause who has the backend. */
    private CompletionStage<Call.Outcome> again(LiveSession session, CallOnItsWay call, int attempt) {
        if (attempt == MOST_ATTEMPTS) {
            return CompletableFuture.failedFuture(
                    new StoreUnavailableException(new IllegalStateException("no node takes the call")));
        }
        long pause = Math.min(FIRST_PAUSE_MILLIS << Math.min(attempt - 1, MOST_DOUBLINGS), MOST_PAUSE_MILLIS);
        CompletableFuture<Void> over = new CompletableFuture<>();
        engine.later(() -> over.complete(null), pause);
        return over.thenCompose(now -> session.draining()
                ? CompletableFuture.completedFuture(new Call.Refused(Refusal.DRAINING))
                : call(session, call, attempt + 1));
    }

    /** How far the listening stream goes, where the answer to a call goes to that: its id may be that of one which stands there. */
    private CompletionStage<Long> listened(LiveSession session) {
        return session.listensOnly()
                ? store.look(session.key())
                        .thenApply(look -> look.map(found -> found.streams().get(StreamId.LISTENING))
                                .map(Extent::last)
                                .orElse(0L))
                : CompletableFuture.completedFuture(0L);
    }

    /**
     * Sends a call.
     *
     * @param last how far the listening stream went before
     */
    private CompletionStage<Call.Outcome> forward(
            LiveSession session, CallOnItsWay call, Member host, int attempt, long last) {
        String node = lease.node();
        long number = nextNumber();
        call.sent(number);
        CompletableFuture<Optional<NodeMessage>> answer = new CompletableFuture<>();
        waiting.put(number, answer);
        // what is cancelled before it is sent, be it once more, does not run there
        Supplier<byte[]> message =
                () -> new NodeMessage.Forwarded(session.key(), host.epoch(), node, number, call.wanted(), call.behind())
                        .pack();
        send(node, host, message, answer);
        answer.whenComplete((said, failure) -> tellCancelled(node, session, call, number, host));
        return answer.thenCompose(said -> said.isPresent()
                        ? answered(node, session, call, host, said.get())
                        : lease.insist(node, () -> dead(session, number, last, call.requests(), host)))
                .whenComplete((outcome, failure) -> waiting.remove(number))
                .exceptionally(failure -> undecided(session, failure))
                .thenCompose(outcome -> outcome.<CompletionStage<Call.Outcome>>map(CompletableFuture::completedFuture)
                        .orElseGet(() -> again(session, call, attempt)));
    }

    /** What was cancelled may have been sent before that: the node to which it was sent hears of the cancellation behind it. */
    private void tellCancelled(String node, LiveSession session, CallOnItsWay call, long number, Member host) {
        call.cancellations().forEach(cancellation -> {
            Cancellation told = session.toldElsewhere(cancellation.of(number));
            byte[] message = new NodeMessage.Cancelled(session.key(), told).pack();
            CompletionStage<Boolean> unused =
                    lease.insist(node, () -> store.bus().send(host.node(), message));
        });
    }

    /** Whether the store never takes what it was given, for its size. */
    static boolean isTooLarge(@Nullable Throwable failure) {
        Throwable cause = failure;
        while (cause != null && !(cause instanceof TooLargeException)) {
            cause = cause.getCause();
        }
        return cause != null;
    }

    /** From here on a failure does not say that the call has not run. */
    private static Optional<Call.Outcome> undecided(LiveSession session, Throwable failure) {
        if (isTooLarge(failure)) {
            return Optional.of(new Call.Refused(Refusal.BODY_SIZE));
        }
        logger.debug("session {}: nobody knows whether a call has run on another node", session.shortId(), failure);
        return Optional.of(new Call.Undecided());
    }

    /**
     * Sends a call until it is answered: who has got it takes no notice of what comes once more. There is no answer where its node
     * has died.
     */
    private void send(
            String node, Member host, Supplier<byte[]> message, CompletableFuture<Optional<NodeMessage>> answer) {
        lease.insist(node, () -> store.bus().send(host.node(), message.get()))
                // a node that has not got it does not live any more, or has too much in its inbox
                .thenCompose(sent -> sent
                        ? CompletableFuture.completedFuture(true)
                        : lease.insist(node, () -> store.lives(Optional.of(host))))
                .whenComplete((lives, failure) -> {
                    if (failure != null) {
                        answer.completeExceptionally(failure);
                    } else if (lives) {
                        engine.later(
                                () -> sendAgain(node, host, message, answer),
                                engine.setting().lease().toMillis());
                    } else {
                        answer.complete(Optional.empty());
                    }
                });
    }

    private void sendAgain(
            String node, Member host, Supplier<byte[]> message, CompletableFuture<Optional<NodeMessage>> answer) {
        if (!answer.isDone()) {
            send(node, host, message, answer);
        }
    }

    private CompletionStage<Optional<Call.Outcome>> answered(
            String node, LiveSession session, CallOnItsWay call, Member host, NodeMessage said) {
        if (said instanceof NodeMessage.Taken taken) {
            return lease.insist(
                    node,
                    () -> taken(
                            session,
                            call.wanted(),
                            new SharedReaders.Started(taken.stream(), taken.epoch(), host.node())));
        }
        NodeMessage.NotTaken why =
                said instanceof NodeMessage.Declined declined ? declined.why() : NodeMessage.NotTaken.NOT_HERE;
        return CompletableFuture.completedFuture(why.outcome());
    }

    private CompletionStage<Optional<Call.Outcome>> taken(
            LiveSession session, List<InboundMessage> requests, SharedReaders.Started call) {
        if (session.listensOnly()) {
            return CompletableFuture.completedFuture(
                    Optional.of(new Call.Accepted(new RemoteCall(Optional.empty(), StreamId.LISTENING))));
        }
        List<RequestId> ids = requests.stream().map(InboundMessage::requiredId).toList();
        return readers.first(session, call, ids)
                .thenApply(
                        reader -> Optional.of(new Call.Accepted(new RemoteCall(Optional.of(reader), call.stream()))));
    }

    /** The node that was asked has died: the log knows whether it has started the call. */
    private CompletionStage<Optional<Call.Outcome>> dead(
            LiveSession session, long number, long last, List<InboundMessage> requests, Member host) {
        // from here on it starts nothing, under none of its epochs
        return store.members(session.key())
                .thenCompose(members -> store.fence(
                        session.key(),
                        Stream.concat(
                                Stream.of(host.epoch()),
                                members.stream()
                                        .filter(member -> member.node().equals(host.node()))
                                        .map(Member::epoch))))
                .thenCompose(fenced -> store.look(session.key()))
                .thenCompose(look -> started(
                        session,
                        number,
                        last,
                        requests,
                        host.epoch(),
                        look.orElseThrow(() -> new IllegalStateException("the session has ended meanwhile"))))
                .thenCompose(stream -> stream.isEmpty()
                        ? CompletableFuture.completedFuture(Optional.empty())
                        : writers.of(session, stream.get(), 0)
                                .thenCompose(standing -> taken(
                                        session, requests, new SharedReaders.Started(stream.get(), host.epoch(), ""))));
    }

    /**
     * The stream of a call that was started under an epoch, or a later one: one that runs, or one that has an answer. It is known by its
     * number, for its ids may be those of other calls too; an answer on the listening stream by its id, behind what stood there when the
     * call was sent.
     */
    private CompletionStage<Optional<StreamId>> started(
            LiveSession session, long number, long last, List<InboundMessage> requests, Epoch epoch, Look look) {
        Optional<StreamId> own = Stream.concat(
                        look.record().running().keySet().stream(), look.streams().keySet().stream())
                .filter(stream -> stream.epoch() >= epoch.counter() && stream.number() == number)
                .findFirst();
        if (own.isPresent() || !session.listensOnly()) {
            return CompletableFuture.completedFuture(own);
        }
        Set<RequestId> ids = requests.stream().map(InboundMessage::requiredId).collect(Collectors.toSet());
        return answers(session, last, ids).thenApply(answered -> {
            if (!answered && trimmed(look, last)) {
                throw new IllegalStateException("an answer may have been trimmed");
            }
            return answered ? Optional.of(StreamId.LISTENING) : Optional.empty();
        });
    }

    private static boolean trimmed(Look look, long last) {
        return Optional.ofNullable(look.streams().get(StreamId.LISTENING))
                .filter(extent -> extent.trimmed() > last)
                .isPresent();
    }

    private CompletionStage<Boolean> answers(LiveSession session, long last, Set<RequestId> requests) {
        return store.all(session.key(), StreamId.LISTENING)
                .thenApply(events -> events.stream()
                        .anyMatch(event -> event.offset() > last
                                && EventKind.answers(event.kind())
                                && requests.contains(event.id())));
    }

    /** Another node has said what became of a call. */
    void said(long number, NodeMessage answer) {
        CompletableFuture<Optional<NodeMessage>> asked = waiting.get(number);
        if (asked != null) {
            asked.complete(Optional.of(answer));
        }
    }

    /** The lease is lost: what other nodes answer does not arrive any more. */
    void giveUp() {
        StoreUnavailableException lost = new StoreUnavailableException(new IllegalStateException("the lease was lost"));
        waiting.values().forEach(answer -> answer.completeExceptionally(lost));
    }

    /** A call that another node runs: here it is only read. */
    private record RemoteCall(Optional<StreamReader> reader, StreamId stream) implements Call {
        @Override
        public CompletionStage<Boolean> note(byte[] note) {
            return CompletableFuture.completedFuture(false);
        }

        /** Nothing of it is here. */
        @Override
        public void whenOver(Runnable task) {
            task.run();
        }

        /** What becomes of it is not known here. */
        @Override
        public boolean givenUp() {
            return true;
        }

        /** The other node has handed it to its backend. */
        @Override
        public void dispatch(Executor caller) {
            caller.execute(() -> {});
        }
    }
}
