package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Composes what a connection writes next: its opening, events, the halves of heartbeats, its closing. For the holder of the pump, but for
 * {@link #beatDue}.
 *
 * <p>A heartbeat is an SSE comment, or white space, in two writes. A peer that is gone answers the first with a reset, which the second then
 * meets; so the two are more than a round trip apart. The clock says what is due, the holder of the pump writes it.
 */
final class SseComposer {
    private static final long ROTATION_RETRY_MILLIS = 100;
    private static final byte[] SECOND_HALF = "\n".getBytes(US_ASCII);
    private static final long HALVES_APART_NANOS = TimeUnit.MILLISECONDS.toNanos(110);

    private final StreamReader reader;
    private final Framing framing;
    private final SseConnections.Times times;
    private final boolean stays;
    private final @Nullable Runnable refusal;
    private final SseFrames frames = new SseFrames();
    private volatile Beat beat = Beat.NONE;
    private boolean opened;
    private boolean asks;
    private boolean exhausted;
    private boolean returnable;
    private @Nullable Close closing;

    private enum Beat {
        NONE,
        FIRST_DUE,
        HALF_WRITTEN,
        SECOND_DUE
    }

    SseComposer(SseSource source, SseConnections.Times times) {
        this.reader = source.reader();
        this.framing = source.framing();
        this.times = times;
        this.stays = source.proof() != null || !framing.resumable();
        this.refusal = source.refusal();
        this.returnable = source.returnable();
        if (framing.tellsPosition()) {
            reader.positionTold();
        }
    }

    /** What was composed and is not written yet, and what is only gathered. */
    SseFrames frames() {
        return frames;
    }

    /** Whether the opening was composed. */
    boolean opened() {
        return opened;
    }

    /** Whether all was read that was there when it composed last: whoever has more wakes the pump. */
    boolean exhausted() {
        return exhausted;
    }

    /** How the connection is to be closed after what was composed, if it is. */
    @Nullable Close closing() {
        return closing;
    }

    /**
     * Whether half a heartbeat has become due; for the clock.
     *
     * @param wanted whether a heartbeat is wanted before its time
     */
    boolean beatDue(long now, long lastWrite, boolean wanted) {
        if (beat == Beat.NONE && (wanted || now - lastWrite >= times.heartbeat().toNanos())) {
            beat = Beat.FIRST_DUE;
            return true;
        }
        if (beat == Beat.HALF_WRITTEN && now - lastWrite >= HALVES_APART_NANOS) {
            beat = Beat.SECOND_DUE;
            return true;
        }
        return false;
    }

    private void beat() {
        if (beat == Beat.FIRST_DUE && frames.isEmpty()) {
            frames.add(framing.beat());
            beat = Beat.HALF_WRITTEN;
        } else if (beat == Beat.SECOND_DUE) {
            finishBeat();
        }
    }

    /** Something else is written now: it stands for the heartbeat, after the second half of one that has begun. */
    private void finishBeat() {
        if (beat == Beat.HALF_WRITTEN || beat == Beat.SECOND_DUE) {
            frames.add(SECOND_HALF);
        }
        beat = Beat.NONE;
    }

    /**
     * Composes up to a batch; false if there is nothing to write.
     *
     * @param headDue whether the opening is written though no event is there
     * @param rotate whether the connection is so old that it shall end
     * @param gathers whether it keeps less than a batch for the next time, unless it asks the client something or is the end
     * @param batch how many bytes make a batch, at least 1
     */
    boolean next(boolean headDue, boolean rotate, boolean gathers, int batch) {
        String position = opened ? "" : reader.position();
        StreamReader.Next next = reader.read(Math.max(1, batch - frames.size()));
        if (!opened) {
            if (refusal != null && next instanceof StreamReader.End end && end.reason() == EndReason.STORE_FAILED) {
                refusal.run();
                closing = Close.IN_ORDER;
                return false;
            }
            boolean early = next == StreamReader.Rest.REST && !headDue;
            if (early || !(next instanceof StreamReader.Events || reader.recorded())) {
                return false;
            }
            opened = true;
            framing.open(frames, times.retry().toMillis(), position);
        }
        while (add(next) && frames.size() < batch) {
            next = reader.read(batch - frames.size());
        }
        exhausted = next == StreamReader.Rest.REST;
        if (closing == null && rotate && returnable) {
            finishBeat();
            handOver(ROTATION_RETRY_MILLIS);
        }
        if (closing == null) {
            beat();
        }
        if (frames.isEmpty() || (gathers && closing == null && !asks && frames.size() < batch)) {
            return false;
        }
        asks = false;
        return true;
    }

    /** Adds what was read; false if nothing can follow it now. */
    private boolean add(StreamReader.Next next) {
        if (next instanceof StreamReader.Events events) {
            finishBeat();
            for (Event event : events.events()) {
                framing.add(frames, event, reader.position(event));
                asks |= EventKind.asks(event.kind());
            }
            returnable = !stays;
            return true;
        }
        if (next instanceof StreamReader.End end) {
            finishBeat();
            close(end);
        }
        return false;
    }

    private void close(StreamReader.End end) {
        long retry = times.retry().toMillis();
        switch (end.reason()) {
            case POLLING -> handOver(end.retry().orElse(times.retry()).toMillis());
            case DRAINED, TAKEN_OVER ->
                handOver(retry + ThreadLocalRandom.current().nextLong(retry + 1));
            case SUPERSEDED -> closing = Close.BROKEN;
            default -> {
                frames.add(framing.ending());
                closing = Close.IN_ORDER;
            }
        }
    }

    private void handOver(long retryMillis) {
        frames.add(framing.closing(retryMillis));
        closing = Close.HANDOVER;
    }
}
