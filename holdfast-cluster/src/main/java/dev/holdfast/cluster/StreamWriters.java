package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.log.SessionLog;
import dev.holdfast.log.StoreQuestion;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SingleFlight;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who writes the streams of calls. A stream belongs to the node whose epoch has begun it, or to its heir. Where that node does not
 * live, whoever asks takes the stream over: it gets a newer epoch, fences the dead one, becomes the heir by compare-and-set, and ends
 * the call, or runs it again. When a client has everything of a stream, the node that keeps the stream is told, and lets it age; if that
 * node is gone, this one keeps the stream of a call from then on, and trims the listening stream.
 */
final class StreamWriters {
    private static final Logger logger = LoggerFactory.getLogger(StreamWriters.class);
    private static final int READ_BYTES = 1 << 18;
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

    private final ClusterWriter store;
    private final Placement placement;
    /** What is on its way from a dead node to a session of this one. */
    private final SingleFlight<Taking, Boolean> takings = new SingleFlight<>();

    private record Taking(LiveSession session, StreamId stream) {}

    StreamWriters(ClusterWriter store, Placement placement) {
        this.store = store;
        this.placement = placement;
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
        return takings.of(new Taking(session, stream), () -> StoreQuestion.ask(takeover))
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
                return session.writes(stream)
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
                    store.peers().tell(node.get(), new NodeMessage.Doubted(key, look.certainFrom()));
                }
                return is(new Elsewhere(node.get(), running.requests(), look));
            });
        });
    }

    /** Completes with the other node that keeps what is written of a stream, where that lives. */
    private CompletionStage<Optional<String>> keeper(LiveSession session, StreamId stream) {
        return heir(session, stream)
                .thenCompose(heir -> others(session.key()).thenApply(others -> others.node(writer(stream, heir))));
    }

    private CompletionStage<Long> heir(LiveSession session, StreamId stream) {
        long nobody = SharedSessionStore.NO_TOKEN;
        return store.token(session.key(), session.epoch(), stream, Part.HEIR, nobody, nobody);
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
                    long own = session.epoch().counter();
                    return store.token(key, session.epoch(), stream, Part.HEIR, heir, own)
                            .thenCompose(now -> now == own ? take(session, stream, seen) : NOT_HERE);
                });
    }

    /**
     * Makes sure that this node has an epoch that is newer than any under which a dead node can have written, and than those of which the
     * store may have lost something.
     */
    private static CompletionStage<Boolean> newest(LiveSession session, Look look) {
        return session.epoch().counter() < Math.max(look.epoch().counter(), look.certainFrom())
                ? session.renew()
                : CompletableFuture.completedFuture(true);
    }

    private CompletionStage<Boolean> take(LiveSession session, StreamId stream, long seen) {
        SessionKey key = session.key();
        // what has ended here is over in the store too
        return session.log()
                .settledUnlessStuck()
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
                            .thenCompose(events -> placement.mayRun(session).thenApply(mayRun -> {
                                session.opening().inherit(stream, running, events, extent, seen, mayRun);
                                return true;
                            }));
                });
    }

    /** The client of a session has everything of a stream. */
    void delivered(LiveSession session, StreamId stream) {
        if (session.readers().delivered(stream)) {
            return;
        }
        StoreQuestion.ask(() -> keeper(session, stream))
                .thenCompose(
                        keeper -> keeper.isPresent() ? tell(keeper.get(), session, stream) : adopt(session, stream))
                .whenComplete((done, failure) -> log(session, failure));
    }

    /** The same, where it is known who keeps it. */
    void delivered(LiveSession session, StreamId stream, String keeper) {
        if (keeper.isEmpty()) {
            delivered(session, stream);
        } else if (!session.readers().delivered(stream)) {
            tell(keeper, session, stream);
        }
    }

    /**
     * The client has everything of the listening stream up to here: what nodes have sent of that who are gone is trimmed, unless that is
     * being done, or was done before any of them was gone.
     */
    void listened(LiveSession session, long through) {
        store.membership(session.key())
                .map(own -> own.orphaned)
                .filter(orphaned -> through > 0 && orphaned.begin())
                .ifPresent(orphaned -> StoreQuestion.ask(() -> store.members(session.key()))
                        .thenCompose(members -> trim(session, orphaned, epochs(members), through))
                        .whenComplete((done, failure) -> {
                            orphaned.end();
                            log(session, failure);
                        }));
    }

    private static Set<Epoch> epochs(List<Member> members) {
        return members.stream().map(Member::epoch).collect(Collectors.toUnmodifiableSet());
    }

    private CompletionStage<Void> trim(
            LiveSession session, Membership.OrphanSearch orphaned, Set<Epoch> present, long through) {
        return trim(session, orphaned.from(present), through, event -> !present.contains(event.epoch()))
                .thenAccept(done -> orphaned.none(present, through));
    }

    /** Page by page: the stream may be long. */
    private CompletionStage<Void> trim(LiveSession session, long after, long through, Predicate<Event> gone) {
        if (after >= through) {
            return SessionLog.DONE;
        }
        return store.read(session.key(), StreamId.LISTENING, after, READ_BYTES).thenCompose(events -> {
            List<Event> had =
                    events.stream().filter(event -> event.offset() <= through).toList();
            session.readers().trim(had.stream().filter(gone).toList());
            return had.isEmpty() || had.size() < events.size()
                    ? SessionLog.DONE
                    : trim(session, had.get(had.size() - 1).offset(), through, gone);
        });
    }

    private static void log(LiveSession session, @Nullable Throwable failure) {
        if (failure != null) {
            logger.debug("session {}: a stream is kept for longer", session.shortId(), failure);
        }
    }

    private CompletionStage<Void> tell(String node, LiveSession session, StreamId stream) {
        store.peers().tell(node, new NodeMessage.Delivered(session.key(), stream));
        return SessionLog.DONE;
    }

    private CompletionStage<Void> adopt(LiveSession session, StreamId stream) {
        SessionKey key = session.key();
        return store.look(key).thenCompose(look -> {
            Optional<Extent> extent =
                    look.flatMap(found -> Optional.ofNullable(found.streams().get(stream)));
            return extent.isEmpty()
                    ? SessionLog.DONE
                    : store.all(key, stream)
                            .thenAccept(kept -> session.readers().adopt(stream, kept, extent.get()));
        });
    }
}
