package dev.holdfast.log;

import java.util.concurrent.TimeUnit;

/**
 * What the writes of one connection say of what its client has: what was written before a write that began at least 100 ms later and
 * was completed too is confirmed. For the one thread that holds the connection's pump.
 */
public final class WriteMarks {
    /** Nothing was confirmed. */
    public static final long NOTHING = 0;

    /** How long after a write another one must begin so that its success says something about the first. */
    static final long CONFIRMATION_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private long confirmed;
    private Mark older = Mark.NONE;
    private Mark newer = Mark.NONE;

    /** Read up to {@code offset}, and written at {@code at}. */
    private record Mark(long offset, long at) {
        static final Mark NONE = new Mark(0, 0);

        boolean confirmedBy(long began) {
            return offset > 0 && began - at >= CONFIRMATION_NANOS;
        }
    }

    /**
     * All that was read has been written.
     *
     * @param cursor how far that is
     * @return up to which offset the client has surely got everything, if that is known now; else {@link #NOTHING}
     */
    public long wrote(long began, long completed, long cursor) {
        long now = NOTHING;
        if (newer.confirmedBy(began)) {
            now = newer.offset;
            older = Mark.NONE;
            newer = Mark.NONE;
        } else if (older.confirmedBy(began)) {
            now = older.offset;
            older = newer;
            newer = Mark.NONE;
        }
        confirmed = Math.max(confirmed, now);
        if (cursor > Math.max(confirmed, Math.max(older.offset, newer.offset))) {
            Mark mark = new Mark(cursor, completed);
            if (older.offset == 0) {
                older = mark;
            } else {
                newer = mark;
            }
        }
        return now;
    }
}
