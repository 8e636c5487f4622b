package dev.holdfast;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tells several listeners, each whatever the others throw. */
record Listeners(List<SessionLifecycleListener> all) implements SessionLifecycleListener {
    private static final Logger log = LoggerFactory.getLogger(Listeners.class);

    private void tell(Consumer<SessionLifecycleListener> event) {
        for (SessionLifecycleListener listener : all) {
            try {
                event.accept(listener);
            } catch (Throwable e) {
                log.error("a listener failed", e);
            }
        }
    }

    @Override
    public void onSessionCreated(String sessionId) {
        tell(listener -> listener.onSessionCreated(sessionId));
    }

    @Override
    public void onSessionDetached(String sessionId, Duration grace) {
        tell(listener -> listener.onSessionDetached(sessionId, grace));
    }

    @Override
    public void onSessionReconnected(String sessionId) {
        tell(listener -> listener.onSessionReconnected(sessionId));
    }

    @Override
    public void onSessionRestored(String sessionId) {
        tell(listener -> listener.onSessionRestored(sessionId));
    }

    @Override
    public void onRestoreEnded(String sessionId, RestoreOutcome outcome, Duration took) {
        tell(listener -> listener.onRestoreEnded(sessionId, outcome, took));
    }

    @Override
    public void onBackendChanged(String sessionId) {
        tell(listener -> listener.onBackendChanged(sessionId));
    }

    @Override
    public void onBackendReleased(String sessionId) {
        tell(listener -> listener.onBackendReleased(sessionId));
    }

    @Override
    public void onSessionParked(String sessionId) {
        tell(listener -> listener.onSessionParked(sessionId));
    }

    @Override
    public void onSessionClosed(String sessionId, EndReason reason) {
        tell(listener -> listener.onSessionClosed(sessionId, reason));
    }

    @Override
    public void onGap(String sessionId, String stream) {
        tell(listener -> listener.onGap(sessionId, stream));
    }

    @Override
    public void onCallTimedOut(String sessionId) {
        tell(listener -> listener.onCallTimedOut(sessionId));
    }

    @Override
    public void onTask(String sessionId, TaskEvent event) {
        tell(listener -> listener.onTask(sessionId, event));
    }

    @Override
    public void onRefused(Refusal reason) {
        tell(listener -> listener.onRefused(reason));
    }
}
