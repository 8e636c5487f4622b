package dev.holdfast.cluster;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.StreamId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** What a tail has read ahead, and how far its client is. Used under the lock of its reader. */
final class TailPage {
    private final boolean listening;
    private final Deque<Event> events = new ArrayDeque<>();
    private long cursor;
    private Epoch epoch;

    TailPage(StreamId stream, TailReader.Start start) {
        this.listening = stream.equals(StreamId.LISTENING);
        this.cursor = start.cursor();
        this.epoch = start.epoch();
    }

    /** The last event that was taken. */
    long cursor() {
        return cursor;
    }

    /** No event up to the cursor has a later epoch. */
    Epoch epoch() {
        return epoch;
    }

    boolean isEmpty() {
        return events.isEmpty();
    }

    void add(Event event) {
        events.add(event);
    }

    void clear() {
        events.clear();
    }

    /** Takes events that are no longer than this together, but the first in any case. */
    List<Event> take(int maxBytes) {
        List<Event> found = new ArrayList<>();
        long room = maxBytes;
        for (Event next = events.peek(); next != null; next = events.peek()) {
            room -= next.bytes().length;
            if (!found.isEmpty() && room < 0) {
                break;
            }
            found.add(events.remove());
            pass(next);
        }
        return found;
    }

    private void pass(Event event) {
        if (event.offset() != Event.UNPLACED) {
            cursor = event.offset();
            // the listening stream has many writers: no event up to a position has a later epoch than it names
            epoch = !listening || event.epoch().counter() > epoch.counter() ? event.epoch() : epoch;
        }
    }
}
