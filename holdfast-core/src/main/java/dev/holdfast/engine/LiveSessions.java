package dev.holdfast.engine;

import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.SessionKey;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The sessions in memory. Those that have ended stay here until the store has let them go, so that nobody brings them back. Safe
 * for use by any thread.
 */
final class LiveSessions {
    private final Map<SessionKey, LiveSession> sessions = new ConcurrentHashMap<>();
    private final AtomicInteger open = new AtomicInteger();

    Collection<LiveSession> all() {
        return sessions.values();
    }

    /** How many have not ended. */
    int size() {
        return open.get();
    }

    Optional<LiveSession> get(SessionKey key) {
        return Optional.ofNullable(sessions.get(key));
    }

    boolean has(SessionKey key) {
        return sessions.containsKey(key);
    }

    /** Lets a session in, unless its name is taken. */
    boolean add(LiveSession session) {
        boolean added = sessions.putIfAbsent(session.key(), session) == null;
        if (added) {
            open.incrementAndGet();
        }
        return added;
    }

    /** A session that was let in has closed. */
    void closed() {
        open.decrementAndGet();
    }

    /** A session that has closed is not to be found here any more. */
    void remove(SessionKey key) {
        sessions.remove(key);
    }
}
