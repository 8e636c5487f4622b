package dev.holdfast.cluster;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.log.SessionLog;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What becomes of a stream of which its client has everything: whoever keeps it hears of that, and lets it grow old. What a node has
 * kept that is gone is kept here from then on, if it is of a call, or forgotten.
 */
final class Deliveries {
    private static final Logger logger = LoggerFactory.getLogger(Deliveries.class);
    private static final int READ_BYTES = 1 << 18;

    private final NodeStore store;
    private final Writers writers;
    private final Peers peers;

    Deliveries(NodeStore store, Writers writers, Peers peers) {
        this.store = store;
        this.writers = writers;
        this.peers = peers;
    }

    /** The client of a session has everything of a stream. */
    void of(LiveSession session, StreamId stream) {
        if (session.replica().delivered(stream)) {
            return;
        }
        StoreQuestion.ask(() -> writers.keeper(session, stream))
                .thenCompose(
                        keeper -> keeper.isPresent() ? tell(keeper.get(), session, stream) : adopt(session, stream))
                .whenComplete((done, failure) -> log(session, failure));
    }

    /** The same, where it is known who keeps it. */
    void of(LiveSession session, StreamId stream, String keeper) {
        if (keeper.isEmpty()) {
            of(session, stream);
        } else if (!session.replica().delivered(stream)) {
            tell(keeper, session, stream);
        }
    }

    /**
     * The client has everything of the listening stream up to here: what nodes have sent of that who are gone is trimmed, unless that is
     * being done, or was done before any of them was gone.
     */
    void listened(LiveSession session, long through) {
        store.membership(session.key())
                .map(own -> own.leftovers)
                .filter(leftovers -> through > 0 && leftovers.begin())
                .ifPresent(leftovers -> StoreQuestion.ask(() -> store.members(session.key()))
                        .thenCompose(members -> trim(session, leftovers, epochs(members), through))
                        .whenComplete((done, failure) -> {
                            leftovers.end();
                            log(session, failure);
                        }));
    }

    private static Set<Epoch> epochs(List<Member> members) {
        return members.stream().map(Member::epoch).collect(Collectors.toUnmodifiableSet());
    }

    private CompletionStage<Void> trim(LiveSession session, Leftovers leftovers, Set<Epoch> present, long through) {
        return trim(session, leftovers.from(present), through, event -> !present.contains(event.epoch()))
                .thenAccept(done -> leftovers.none(present, through));
    }

    /** Page by page: the stream may be long. */
    private CompletionStage<Void> trim(LiveSession session, long after, long through, Predicate<Event> gone) {
        if (after >= through) {
            return SessionLog.DONE;
        }
        return store.read(session.key(), StreamId.LISTENING, after, READ_BYTES).thenCompose(events -> {
            List<Event> had =
                    events.stream().filter(event -> event.offset() <= through).toList();
            session.replica().trim(had.stream().filter(gone).toList());
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
        peers.tell(node, new NodeMessage.Delivered(session.key(), stream));
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
                            .thenAccept(kept -> session.replica().adopt(stream, kept, extent.get()));
        });
    }
}
