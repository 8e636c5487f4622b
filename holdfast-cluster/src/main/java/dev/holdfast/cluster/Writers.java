package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Who writes the streams of calls. A stream belongs to the node whose epoch has begun it, or to its heir. Where that node does not
 * live, whoever asks takes the stream over: it gets a newer epoch, fences the dead one, becomes the heir by compare-and-set, and ends
 * the call, or runs it again.
 */
final class Writers {
    private static final Extent NEW = new Extent(0, 0);
    private static final CompletionStage<Boolean> NOT_HERE = CompletableFuture.completedFuture(false);

    /** Where a stream stands. */
    sealed interface Standing {}

    /** It is written here. */
    record Here() implements Standing {}

    /**
     * It is written by another node that lives.
     *
     * @param requests those whose answers are still to come
     */
    record Elsewhere(String node, List<RequestId> requests, Look look) implements Standing {}

    /** Its call is over. */
    record Over(Look look) implements Standing {
        /** Up to where the store has lost a stream; 0 where something is kept. */
        long lost(StreamId stream) {
            Extent extent = look.streams().getOrDefault(stream, NEW);
            return extent.bare() ? extent.last() : 0;
        }
    }

    /** The store knows no such stream. */
    record Unknown() implements Standing {}

    private final NodeStore store;
    private final Peers peers;
    private final Optional<Placement> placement;
    /** What is on its way from a dead node to a session of this one. */
    private final SharedWork<Taking, Boolean> takings = new SharedWork<>();

    private record Taking(LiveSession session, StreamId stream) {}

    /**
     * @param placement where the backend is, if it exists once
     */
    Writers(NodeStore store, Peers peers, Optional<Placement> placement) {
        this.store = store;
        this.peers = peers;
        this.placement = placement;
    }

    /** Whether the backend of a session is on this node, or may be. */
    CompletionStage<Boolean> mayRun(LiveSession session) {
        return placement
                .map(once -> once.of(session).thenApply(Placement.Here.class::isInstance))
                .orElseGet(() -> CompletableFuture.completedFuture(true));
    }

    private static CompletionStage<Standing> is(Standing standing) {
        return CompletableFuture.completedFuture(standing);
    }

    /**
     * Finds out where the stream of a call stands, and takes it over from a node that has died.
     *
     * @param seen up to which offset its client has it, by its cursor or by its connection here
     */
    CompletionStage<Standing> of(LiveSession session, StreamId stream, long seen) {
        return store.look(session.key())
                .thenCompose(look ->
                        look.map(found -> of(session, stream, seen, found)).orElseGet(() -> is(new Unknown())));
    }

    /** Takes a stream over, once for all who need it now. What was seen before may be old where it is not here then. */
    private CompletionStage<Standing> alone(
            LiveSession session, StreamId stream, long seen, Supplier<CompletionStage<Boolean>> takeover) {
        return takings.of(new Taking(session, stream), takeover)
                .thenCompose(here -> here ? is(new Here()) : of(session, stream, seen));
    }

    private CompletionStage<Standing> of(LiveSession session, StreamId stream, long seen, Look look) {
        RunningCall running = look.record().running().get(stream);
        if (running == null) {
            return is(look.streams().containsKey(stream) ? new Over(look) : new Unknown());
        }
        SessionKey key = session.key();
        return heir(session, stream).thenCompose(heir -> {
            int writer = writer(stream, heir);
            if (isHere(key, writer)) {
                // who has become the heir may not have got what there is to inherit
                return session.replica().writes(stream)
                        ? is(new Here())
                        : alone(session, stream, seen, () -> take(session, stream, seen));
            }
            return others(key).thenCompose(others -> {
                Optional<String> node = others.node(writer);
                if (node.isEmpty()) {
                    return alone(
                            session, stream, seen, () -> inherit(session, stream, seen, look, heir, others.dead()));
                }
                if (writer < look.certainFrom()) {
                    // the store may have lost the end of the call without the knowledge of its node
                    peers.tell(node.get(), new NodeMessage.Doubted(key, look.certainFrom()));
                }
                return is(new Elsewhere(node.get(), running.requests(), look));
            });
        });
    }

    /** Completes with the other node that keeps what is written of a stream, where that lives. */
    CompletionStage<Optional<String>> keeper(LiveSession session, StreamId stream) {
        return heir(session, stream)
                .thenCompose(heir -> others(session.key()).thenApply(others -> others.node(writer(stream, heir))));
    }

    private CompletionStage<Long> heir(LiveSession session, StreamId stream) {
        long nobody = SharedSessionStore.NO_TOKEN;
        return store.token(session.key(), session.replica().epoch(), stream, Part.HEIR, nobody, nobody);
    }

    /** The counter of the epoch that writes a stream. */
    private static int writer(StreamId stream, long heir) {
        return heir == SharedSessionStore.NO_TOKEN ? stream.epoch() : (int) heir;
    }

    /** The other nodes that have a session; a dead one may have something on the wire under any of its epochs. */
    private record Others(List<Member> living, List<Member> dead) {
        private Optional<String> node(int counter) {
            return living.stream()
                    .filter(one -> one.epoch().counter() == counter)
                    .map(Member::node)
                    .findFirst();
        }
    }

    private CompletionStage<Others> others(SessionKey key) {
        return store.members(key)
                .thenCompose(members -> store.bus().living().thenApply(living -> {
                    Map<Boolean, List<Member>> byLife = members.stream()
                            .filter(one -> !isHere(key, one.epoch().counter()))
                            .collect(Collectors.partitioningBy(one -> living.contains(one.node())));
                    return new Others(byLife.getOrDefault(true, List.of()), byLife.getOrDefault(false, List.of()));
                }));
    }

    private boolean isHere(SessionKey key, int counter) {
        return store.membership(key).filter(own -> own.has(counter)).isPresent();
    }

    /** Completes with whether the stream is here then: another node may be quicker. */
    private CompletionStage<Boolean> inherit(
            LiveSession session, StreamId stream, long seen, Look look, long heir, List<Member> dead) {
        SessionKey key = session.key();
        return newest(session, look)
                .thenCompose(renewed -> {
                    if (!renewed) {
                        throw new IllegalStateException("no newer epoch");
                    }
                    return store.fence(key, dead.stream().map(Member::epoch));
                })
                .thenCompose(fenced -> {
                    long own = session.replica().epoch().counter();
                    return store.token(key, session.replica().epoch(), stream, Part.HEIR, heir, own)
                            .thenCompose(now -> now == own ? take(session, stream, seen) : NOT_HERE);
                });
    }

    /**
     * Makes sure that this node has an epoch that is newer than any under which a dead node can have written, and than those of which the
     * store may have lost something.
     */
    private static CompletionStage<Boolean> newest(LiveSession session, Look look) {
        return session.replica().epoch().counter() < Math.max(look.epoch().counter(), look.certainFrom())
                ? session.replica().renew()
                : CompletableFuture.completedFuture(true);
    }

    private CompletionStage<Boolean> take(LiveSession session, StreamId stream, long seen) {
        SessionKey key = session.key();
        // what has ended here is over in the store too
        return session.replica()
                .settled()
                .thenCompose(settled -> store.look(key))
                .thenCompose(look -> {
                    RunningCall running = look.map(
                                    found -> found.record().running().get(stream))
                            .orElse(null);
                    if (look.isEmpty() || running == null) {
                        return NOT_HERE;
                    }
                    Extent extent = look.get().streams().getOrDefault(stream, NEW);
                    return store.all(key, stream)
                            .thenCompose(events -> mayRun(session).thenApply(mayRun -> {
                                session.replica().inherit(stream, running, events, extent, seen, mayRun);
                                return true;
                            }));
                });
    }
}
