package dev.holdfast.client;

import dev.holdfast.client.wire.SseEvent;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Where the reader of one stream is, over all connections that carried it. For one thread at a time.
 *
 * <p>An id that comes with two messages on one connection, or that is the session's own, is no event id: such a stream has no
 * cursor.
 */
final class Cursor {
    /** So many ids are remembered; a server that repeats more than this repeats everything. */
    private static final int REMEMBERED = 256;

    private final boolean wanted;
    /** By id, the number of the connection on which it came. */
    private final Map<String, Integer> recent = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Integer> eldest) {
            return size() > REMEMBERED;
        }
    };

    private Optional<String> last = Optional.empty();
    private int connection;
    private boolean unusable;

    /** A cursor at the start of a stream; one that is not wanted never has a place. */
    Cursor(boolean wanted) {
        this.wanted = wanted;
    }

    /** A further connection carries the stream from now on. */
    void connected() {
        connection++;
    }

    /** The id of the last event that came; empty if the stream cannot be resumed. */
    Optional<String> last() {
        return wanted && !unusable ? last : Optional.empty();
    }

    /** Gives the place up: what follows comes without one. */
    void forget() {
        last = Optional.empty();
    }

    /** The place is now behind this event, which cannot be read. */
    void skip(String id) {
        last = Optional.of(id);
    }

    /** Moves behind the event; false if it came before, on an earlier connection. */
    boolean isNew(SseEvent event, Optional<String> sessionId) {
        if (event.id().isEmpty()) {
            return true;
        }
        String id = event.id().get();
        unusable |= id.equals(sessionId.orElse(""));
        if (event.data().length > 0) {
            Integer earlier = recent.putIfAbsent(id, connection);
            unusable |= earlier != null && earlier == connection;
            if (earlier != null && !unusable) {
                last = event.id();
                return false;
            }
        }
        last = event.id();
        return true;
    }
}
