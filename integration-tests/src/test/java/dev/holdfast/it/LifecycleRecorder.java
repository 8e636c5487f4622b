package dev.holdfast.it;

import dev.holdfast.EndReason;
import dev.holdfast.SessionLifecycleListener;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Hears of what happens to the sessions of a server, and remembers it. */
final class LifecycleRecorder implements SessionLifecycleListener {
    private final List<String> detached = new CopyOnWriteArrayList<>();
    private final List<String> restored = new CopyOnWriteArrayList<>();
    private final List<String> parked = new CopyOnWriteArrayList<>();
    private final List<String> closed = new CopyOnWriteArrayList<>();
    private final Map<String, EndReason> ends = new ConcurrentHashMap<>();
    private final List<String> gaps = new CopyOnWriteArrayList<>();

    /** The sessions whose last connection broke, in order, as often as it did. */
    List<String> detached() {
        return List.copyOf(detached);
    }

    /** The sessions that got a fresh backend, in order, as often as they did. */
    List<String> restored() {
        return List.copyOf(restored);
    }

    /** The sessions that were parked, in order, as often as they were. */
    List<String> parked() {
        return List.copyOf(parked);
    }

    /** The sessions that have ended. */
    List<String> closed() {
        return List.copyOf(closed);
    }

    /** Why each session that has ended did so. */
    Map<String, EndReason> ends() {
        return Map.copyOf(ends);
    }

    /** The sessions whose clients missed something. */
    List<String> gaps() {
        return List.copyOf(gaps);
    }

    @Override
    public void onSessionDetached(String sessionId, Duration grace) {
        detached.add(sessionId);
    }

    @Override
    public void onSessionRestored(String sessionId) {
        restored.add(sessionId);
    }

    @Override
    public void onSessionParked(String sessionId) {
        parked.add(sessionId);
    }

    @Override
    public void onSessionClosed(String sessionId, EndReason reason) {
        ends.put(sessionId, reason);
        closed.add(sessionId);
    }

    @Override
    public void onGap(String sessionId, String stream) {
        gaps.add(sessionId);
    }
}
