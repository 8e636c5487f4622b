package dev.holdfast.log;

import dev.holdfast.EventId;
import org.jspecify.annotations.Nullable;

/** The kept events of a stream, linked in the order of their offsets. Used inside a step. */
final class EventChain {
    private @Nullable KeptEvent head;
    private @Nullable KeptEvent tail;

    @Nullable KeptEvent oldest() {
        return head;
    }

    /** Takes the newest event. */
    void append(KeptEvent node) {
        node.previous = tail;
        if (tail == null) {
            head = node;
        } else {
            tail.next = node;
        }
        tail = node;
    }

    /** Removes an event, which is not kept any more. */
    void remove(KeptEvent node) {
        KeptEvent before = node.previous;
        KeptEvent after = node.next;
        if (before == null) {
            head = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            tail = before;
        } else {
            after.previous = before;
        }
        node.previous = null;
        node.next = null;
        node.kept = false;
    }

    /** The first event after an offset; {@code hint} is where the caller was last, to save the search. */
    @Nullable KeptEvent after(long offset, @Nullable KeptEvent hint) {
        KeptEvent node = hint != null && hint.kept ? hint.next : head;
        while (node != null && node.event.offset() <= offset) {
            node = node.next;
        }
        return node;
    }

    /** How many events there are after one offset and up to another. */
    long count(long after, long through) {
        long count = 0;
        for (KeptEvent node = head; node != null && node.event.offset() <= through; node = node.next) {
            count += node.event.offset() > after ? 1 : 0;
        }
        return count;
    }

    /** The offset of the first event that a cursor does not cover; beyond all offsets if there is none. */
    long firstBeyond(EventId cursor) {
        KeptEvent node = head;
        while (node != null && cursor.covers(node.event.offset(), node.event.epoch())) {
            node = node.next;
        }
        return node == null ? Long.MAX_VALUE : node.event.offset();
    }
}
