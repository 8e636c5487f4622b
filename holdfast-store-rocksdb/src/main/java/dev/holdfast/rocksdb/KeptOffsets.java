package dev.holdfast.rocksdb;

import java.util.Arrays;

/** The offsets of the events that the disk keeps of a stream, so that a trim needs no read. */
final class KeptOffsets {
    private static final int FIRST_ROOM = 2;

    private long[] offsets = new long[FIRST_ROOM];
    private int size;
    private long last;
    private long trimmed;
    /** Whether {@link #trimmed} is on disk. */
    private boolean marked;

    void add(long offset) {
        int at = Arrays.binarySearch(offsets, 0, size, offset);
        if (at >= 0) {
            return;
        }
        if (size == offsets.length) {
            offsets = Arrays.copyOf(offsets, 2 * size);
        }
        int place = -at - 1;
        System.arraycopy(offsets, place, offsets, place + 1, size - place);
        offsets[place] = offset;
        size++;
        last = Math.max(last, offset);
    }

    /** Whether there was such an event. */
    boolean trim(long offset) {
        int at = Arrays.binarySearch(offsets, 0, size, offset);
        if (at < 0) {
            return false;
        }
        System.arraycopy(offsets, at + 1, offsets, at, size - at - 1);
        size--;
        trimmed = Math.max(trimmed, offset);
        return true;
    }

    /** The disk says that everything up to this offset was trimmed. */
    void wasTrimmed(long offset) {
        trimmed = offset;
        last = Math.max(last, offset);
        marked = true;
    }

    /** All is read that the disk has: above the highest offset that was trimmed nothing is missing, unless it was lost. */
    void read() {
        for (int at = size - 1; at >= 0 && offsets[at] > trimmed; at--) {
            long before = at == 0 ? trimmed : Math.max(trimmed, offsets[at - 1]);
            if (offsets[at] > before + 1) {
                trimmed = offsets[at] - 1;
                return;
            }
        }
    }

    void mark() {
        marked = true;
    }

    boolean marked() {
        return marked;
    }

    boolean isEmpty() {
        return size == 0;
    }

    long last() {
        return last;
    }

    long trimmed() {
        return trimmed;
    }

    long[] offsets() {
        return Arrays.copyOf(offsets, size);
    }
}
