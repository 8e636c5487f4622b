package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.SessionLifecycleListener;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Hears what the engine tells of its sessions, and knows in which order it may. */
final class SimNews implements SessionLifecycleListener {
    private final Simulation world;

    SimNews(Simulation world) {
        this.world = world;
    }

    private SimSession session(String id) {
        return world.session(id);
    }

    private SimSession living(String id, String news) {
        SimSession session = session(id);
        world.trace(() -> "session " + session.number + " " + news);
        world.check(session.created, () -> news + " before the session was created");
        world.check(session.closed.isEmpty(), () -> news + " after the session was closed");
        return session;
    }

    @Override
    public void onSessionCreated(String sessionId) {
        SimSession session = session(sessionId);
        world.check(!session.created, () -> "a session was created twice");
        session.created = true;
    }

    @Override
    public void onSessionDetached(String sessionId, Duration grace) {
        living(sessionId, "is detached");
    }

    @Override
    public void onSessionReconnected(String sessionId) {
        living(sessionId, "is reconnected");
    }

    @Override
    public void onSessionRestored(String sessionId) {
        living(sessionId, "is restored");
    }

    @Override
    public void onSessionParked(String sessionId) {
        SimSession session = living(sessionId, "is parked");
        boolean held = session.connections.stream().anyMatch(connection -> !connection.replaced);
        world.check(!held || world.engine.draining(), () -> "a session was parked that is attached");
        world.check(!world.ephemeral(), () -> "a session was parked that ends with its connection");
        long end = TimeUnit.NANOSECONDS.toMillis(world.sinceStart(session.lastSign)) + world.leastWaitMillis();
        // what a store has failed to take when a session leaves nobody can tell it any more
        world.check(
                session.expiresAt >= end || session.doubtful,
                () -> "a parked session ends at " + session.expiresAt + ", not at " + end);
        session.leaves();
    }

    @Override
    public void onSessionClosed(String sessionId, EndReason reason) {
        SimSession session = living(sessionId, "is closed: " + reason);
        boolean held = session.connections.stream().anyMatch(connection -> !connection.replaced);
        world.check(reason != EndReason.EVICTED || !held, () -> "a session was evicted that is attached");
        session.closed = Optional.of(reason);
    }

    @Override
    public void onGap(String sessionId, String stream) {
        SimSession session = session(sessionId);
        world.trace(() -> "gap on " + session.number + ":" + stream);
        session.gaps.merge(stream, 1, Integer::sum);
    }
}
