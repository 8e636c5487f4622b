package dev.holdfast.servlet;

import dev.holdfast.servlet.sse.ConnectionClock;
import dev.holdfast.servlet.sse.PeerProof;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What is known of the peers of sessions that end with their connections, by session id. Safe for use by any thread.
 *
 * @param ephemeral whether sessions end with their connections; else nothing is known of peers, and nothing needed
 */
record HttpSsePeers(ConnectionClock clock, boolean ephemeral, Map<String, PeerProof> proofs) {
    private static final CompletionStage<Boolean> THERE = CompletableFuture.completedFuture(true);

    HttpSsePeers(ConnectionClock clock, boolean ephemeral) {
        this(clock, ephemeral, new ConcurrentHashMap<>());
    }

    /** Notes the connection of a session, and returns what proves that its peer is there; empty if that is not needed. */
    Optional<PeerProof> connect(String session) {
        if (!ephemeral) {
            return Optional.empty();
        }
        PeerProof proof = new PeerProof(clock, () -> proofs.remove(session));
        proofs.put(session, proof);
        return Optional.of(proof);
    }

    /** Forgets a connection that could not be opened. */
    void forget(String session) {
        proofs.remove(session);
    }

    /** Whether a session that needs its connection has one. */
    boolean mayBeThere(String session) {
        return !ephemeral || proofs.containsKey(session);
    }

    /** Completes with whether the peer of a session is there, as far as that can be known. */
    CompletionStage<Boolean> there(String session) {
        PeerProof proof = proofs.get(session);
        return proof == null ? THERE : proof.ask();
    }
}
