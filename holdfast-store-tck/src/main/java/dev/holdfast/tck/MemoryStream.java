package dev.holdfast.tck;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The events of one stream in a {@link MemorySession}, in the order of their offsets: most streams have one event, and for a moment. */
final class MemoryStream {
    private @Nullable Event[] events = new @Nullable Event[1];
    /** Where the events are: from here to before there. */
    private int from;

    private int to;
    private long last;
    private long trimmed;
    private List<RequestId> lost = List.of();

    /** The last offset that it ever had. */
    long last() {
        return last;
    }

    /** The last offset that was trimmed, or lost. */
    long trimmed() {
        return trimmed;
    }

    boolean isEmpty() {
        return from == to;
    }

    /** Adds an event, or takes it in the place of one that has its offset. */
    void add(Event event) {
        // what came before the first event that it has is gone, and what was left out counts so
        trimmed = event.offset() > last + 1 ? event.offset() - 1 : trimmed;
        last = Math.max(last, event.offset());
        int at = place(event.offset());
        if (at < to && at(at).offset() == event.offset()) {
            events[at] = event;
            return;
        }
        if (to == events.length) {
            at -= from;
            makeRoom();
        }
        System.arraycopy(events, at, events, at + 1, to - at);
        events[at] = event;
        to++;
    }

    private void makeRoom() {
        int count = to - from;
        events = Arrays.copyOfRange(events, from, from + Math.max(2, count + (count >> 1)));
        from = 0;
        to = count;
    }

    /** Removes an event; false if there is none with this offset. */
    boolean trim(long offset) {
        int at = place(offset);
        if (at == to || at(at).offset() != offset) {
            return false;
        }
        trimmed = Math.max(trimmed, offset);
        if (at == from) {
            events[from++] = null;
        } else {
            System.arraycopy(events, at + 1, events, at, to - at - 1);
            events[--to] = null;
        }
        return true;
    }

    /** The events after an offset, up to so many bytes, but one at least if there is one. */
    List<Event> after(long offset, int maxBytes) {
        List<Event> found = new ArrayList<>();
        long room = maxBytes;
        for (int at = place(offset); at < to; at++) {
            Event event = at(at);
            if (event.offset() == offset) {
                continue;
            }
            room -= event.bytes().length;
            if (!found.isEmpty() && room < 0) {
                break;
            }
            found.add(event);
        }
        return found;
    }

    /** Where the first event stands that has this offset or a later one. */
    private int place(long offset) {
        int low = from;
        int high = to;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (at(middle).offset() < offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Loses all events, though nobody has trimmed them. */
    void lose() {
        List<Event> events = after(0, Integer.MAX_VALUE);
        events.forEach(event -> trim(event.offset()));
        lost = events.stream()
                .filter(event -> EventKind.answers(event.kind()))
                .map(Event::id)
                .filter(Objects::nonNull)
                .toList();
        trimmed = last;
    }

    /** The requests whose responses were lost. */
    List<RequestId> lost() {
        return lost;
    }

    private Event at(int index) {
        Event event = events[index];
        if (event == null) {
            throw new IllegalStateException("no event at " + index);
        }
        return event;
    }
}
