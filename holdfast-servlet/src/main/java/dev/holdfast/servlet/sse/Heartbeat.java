package dev.holdfast.servlet.sse;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * The heartbeat of one connection in two writes: an SSE comment, or white space. A peer that is gone answers the first with a reset, which the
 * second then meets; so the two are more than a round trip apart. The clock says what is due, the holder of the pump writes it.
 */
final class Heartbeat {
    /** The first half of a comment. */
    static final byte[] COMMENT = ":".getBytes(StandardCharsets.US_ASCII);

    private static final byte[] SECOND = "\n".getBytes(StandardCharsets.US_ASCII);
    private static final long GAP_NANOS = TimeUnit.MILLISECONDS.toNanos(110);

    private enum Part {
        NONE,
        FIRST_DUE,
        HALF_WRITTEN,
        SECOND_DUE
    }

    private final long intervalNanos;
    private final byte[] first;
    private volatile Part part = Part.NONE;

    Heartbeat(long intervalNanos, byte[] first) {
        this.intervalNanos = intervalNanos;
        this.first = first;
    }

    /**
     * Whether a part has become due by now.
     *
     * @param wanted whether a beat is wanted before its time
     */
    boolean due(long now, long lastWrite, boolean wanted) {
        if (part == Part.NONE && (wanted || now - lastWrite >= intervalNanos)) {
            part = Part.FIRST_DUE;
            return true;
        }
        if (part == Part.HALF_WRITTEN && now - lastWrite >= GAP_NANOS) {
            part = Part.SECOND_DUE;
            return true;
        }
        return false;
    }

    /** Adds the part that is due. */
    void beat(SseFrames frames) {
        if (part == Part.FIRST_DUE && frames.isEmpty()) {
            frames.add(first);
            part = Part.HALF_WRITTEN;
        } else if (part == Part.SECOND_DUE) {
            finish(frames);
        }
    }

    /** Something else is written now: it stands for the beat, after the second half of one that has begun. */
    void finish(SseFrames frames) {
        if (part == Part.HALF_WRITTEN || part == Part.SECOND_DUE) {
            frames.add(SECOND);
        }
        part = Part.NONE;
    }
}
