package dev.holdfast.client;

import dev.holdfast.client.wire.SseEvent;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Where the reader of one stream is, over all connections that carried it. For one thread at a time.
 *
 * <p>An event with a known id and the same data came before. An id that comes with other data on one connection, that is the
 * session's own, or that cannot stand in a header is no event id: such a stream has no cursor. One that is longer than
 * {@link SseEvent#LONGEST_ID} does not come to here: its event has no id, and the cursor stays where it was.
 */
final class Cursor {
    /** How many ids are remembered. A server that repeats more events than that repeats all of them. */
    private static final int REMEMBERED = 256;

    private final boolean wanted;
    private final Map<String, Seen> recent = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Seen> eldest) {
            return size() > REMEMBERED;
        }
    };

    private volatile Optional<String> last = Optional.empty();
    private int connection;
    private boolean unusable;

    /** What came with an id, and on which connection. */
    private record Seen(int data, int connection) {}

    /** A cursor at the start of a stream; one that is not wanted never has a place. */
    Cursor(boolean wanted) {
        this.wanted = wanted;
    }

    /** A further connection carries the stream from now on. */
    void connected() {
        connection++;
    }

    /** The id of the last event that was taken; empty if the stream cannot be resumed. */
    Optional<String> last() {
        return wanted && !unusable ? last : Optional.empty();
    }

    /** Whether its ids are event ids, as far as is known. */
    boolean usable() {
        return !unusable;
    }

    /** Gives the place up: what follows comes without one, and its ids may be those of before. */
    void forget() {
        last = Optional.empty();
        recent.clear();
    }

    /** Moves past an event that cannot be read. */
    void skip(String id) {
        passed(new SseEvent(Optional.of(id), SseEvent.MESSAGE, new byte[0]));
    }

    boolean isNew(SseEvent event, Optional<String> sessionId) {
        String id = event.id().orElse("");
        byte[] data = event.data();
        if (id.isEmpty() || data.length == 0) {
            return true;
        }
        unusable |= id.equals(sessionId.orElse(""));
        Seen earlier = recent.get(id);
        if (earlier == null) {
            return true;
        }
        boolean same = earlier.data() == Arrays.hashCode(data);
        unusable |= !same && earlier.connection() == connection;
        return !same || unusable;
    }

    /** The event was taken: the stream is resumed after it. */
    void passed(SseEvent event) {
        String id = event.id().orElse("");
        if (id.isEmpty()) {
            last = event.id().isPresent() ? Optional.empty() : last;
            return;
        }
        byte[] data = event.data();
        unusable |= !isPrintable(id);
        last = Optional.of(id);
        if (data.length > 0) {
            recent.put(id, new Seen(Arrays.hashCode(data), connection));
        }
    }

    private static boolean isPrintable(String id) {
        for (int i = 0; i < id.length(); i++) {
            if (id.charAt(i) < ' ' || id.charAt(i) > '~') {
                return false;
            }
        }
        return true;
    }
}
