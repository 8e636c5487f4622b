package dev.holdfast.engine;

import dev.holdfast.Finding;
import dev.holdfast.Finding.Found;
import dev.holdfast.Finding.Missing;
import dev.holdfast.Refusal;
import dev.holdfast.Unavailable;
import dev.holdfast.session.ClusterMembership;
import dev.holdfast.session.LiveSession;
import dev.holdfast.session.SessionHost;
import dev.holdfast.session.SessionSeed;
import dev.holdfast.session.StoreQuestion;
import dev.holdfast.session.UnreadableException;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.ExpiryClock;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/** The way of a session from the store back into memory. */
final class Restore {
    private static final int READ_BYTES = 1 << 20;
    private static final CompletionStage<Finding> MISSING = CompletableFuture.completedFuture(new Missing());
    private static final CompletionStage<Boolean> WHOLE = CompletableFuture.completedFuture(true);
    private static final CompletionStage<Boolean> GONE = CompletableFuture.completedFuture(false);

    private final SessionHost host;
    private final ClusterMembership cluster;
    private final Admission admission;
    private final LiveSessions live;
    private final ExpiryClock expiryClock;

    Restore(SessionHost host, Node node, ClusterMembership cluster, ExpiryClock expiryClock) {
        this.host = host;
        this.cluster = cluster;
        this.admission = node.admission();
        this.live = node.live();
        this.expiryClock = expiryClock;
    }

    /**
     * Claims a session and reads what is kept of it; missing where the store does not have it.
     *
     * @param turnedAway gets the session's epoch and how long it still has, if it finds no place
     */
    CompletionStage<Finding> claim(
            SessionKey key, String id, String principal, BiConsumer<Epoch, Duration> turnedAway) {
        return StoreQuestion.ask(() -> host.store().claim(key, host.random().nextInt()))
                .thenCompose(claim -> claim.isEmpty()
                        ? MISSING
                        : orForgotten(key, () -> bring(key, id, principal, claim.get(), turnedAway)));
    }

    /** What was claimed and is not let in, for whatever reason, does not stay with this node. */
    private CompletionStage<Finding> orForgotten(SessionKey key, Supplier<CompletionStage<Finding>> bringing) {
        return StoreQuestion.asked(bringing).whenComplete((finding, failure) -> {
            if (failure != null || !live.has(key)) {
                host.forget(key);
            }
        });
    }

    private CompletionStage<Finding> bring(
            SessionKey key,
            String id,
            String principal,
            SessionStore.Claim claim,
            BiConsumer<Epoch, Duration> turnedAway) {
        SessionSeed origin = UnreadableException.read(() -> SessionSeed.kept(claim));
        if (origin.lifetime().grace().isZero()) {
            // its connection broke when its process ended, unless another node has it
            return host.remove(key, claim.epoch())
                    .thenCompose(gone -> gone ? MISSING : enter(key, id, principal, origin, claim, turnedAway));
        }
        return enter(key, id, principal, origin, claim, turnedAway);
    }

    private CompletionStage<Finding> enter(
            SessionKey key,
            String id,
            String principal,
            SessionSeed origin,
            SessionStore.Claim claim,
            BiConsumer<Epoch, Duration> turnedAway) {
        Optional<Refusal> refusal = admission.enter(principal);
        if (refusal.isPresent()) {
            turnedAway.accept(claim.epoch(), Duration.ofMillis(claim.record().expiresAt() - expiryClock.millis()));
            return CompletableFuture.completedFuture(new Unavailable(refusal.get()));
        }
        LiveSession session = new LiveSession(host, principal, origin);
        Map<StreamId, List<Event>> events = new LinkedHashMap<>();
        return read(key, claim, events)
                .thenApply(whole -> whole && lives(claim) ? admit(session, id, claim, events) : new Missing())
                .whenComplete((finding, failure) -> {
                    if (failure != null || finding instanceof Missing) {
                        session.end().abandon();
                    }
                });
    }

    /** Whether a session has not expired while it was read. */
    private boolean lives(SessionStore.Claim claim) {
        return expiryClock.millis() < claim.record().expiresAt();
    }

    /** Reads all that is kept of each stream; false if the store has let the session go meanwhile. */
    private CompletionStage<Boolean> read(SessionKey key, SessionStore.Claim claim, Map<StreamId, List<Event>> into) {
        CompletionStage<Boolean> all = WHOLE;
        for (Map.Entry<StreamId, SessionStore.Extent> stream : claim.streams().entrySet()) {
            List<Event> events = new ArrayList<>();
            into.put(stream.getKey(), events);
            all = all.thenCompose(whole -> whole ? read(key, stream.getKey(), 0, stream.getValue(), events) : GONE);
        }
        return all;
    }

    /** Nobody appends or trims after the claim: the last event is there, unless it was trimmed, or nothing is. */
    private CompletionStage<Boolean> read(
            SessionKey key, StreamId stream, long after, SessionStore.Extent extent, List<Event> events) {
        if (after >= extent.last()) {
            return WHOLE;
        }
        return StoreQuestion.ask(() -> host.store().read(key, stream, after, READ_BYTES))
                .thenCompose(more -> {
                    events.addAll(more);
                    if (more.isEmpty()) {
                        return extent.trimmed() < extent.last() ? GONE : WHOLE;
                    }
                    return read(key, stream, more.get(more.size() - 1).offset(), extent, events);
                });
    }

    private Finding admit(LiveSession session, String id, SessionStore.Claim claim, Map<StreamId, List<Event>> events) {
        session.opening().restore(id, claim, events, () -> live.add(session));
        host.makeRoom();
        if (host.draining()) {
            session.end().drain();
            return new Unavailable(Refusal.DRAINING);
        }
        return new Found(cluster.face(session));
    }
}
