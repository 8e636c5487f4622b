package dev.holdfast.servlet.sse;

import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Composes what a connection writes next: its opening, events, the halves of heartbeats, its closing. Used by the holder of the
 * pump only.
 */
final class SseComposer {
    private static final long ROTATION_RETRY_MILLIS = 100;

    private final StreamReader reader;
    private final Framing framing;
    private final Heartbeat heartbeat;
    private final ConnectionClock clock;
    private final boolean stays;
    private final @Nullable Runnable refusal;
    private final SseFrames frames = new SseFrames();
    private boolean opened;
    private boolean asks;
    private boolean exhausted;
    private boolean returnable;
    private @Nullable Close closing;

    SseComposer(SseSource source, Heartbeat heartbeat, ConnectionClock clock) {
        this.reader = source.reader();
        this.framing = source.framing();
        this.heartbeat = heartbeat;
        this.clock = clock;
        this.stays = source.proof() != null || !framing.resumable();
        this.refusal = source.refusal();
        this.returnable = source.returnable();
        if (framing.tellsPosition()) {
            reader.positionTold();
        }
    }

    /** Whether the opening was composed. */
    boolean opened() {
        return opened;
    }

    /** Whether all was read that was there when it composed last: whoever has more wakes the pump. */
    boolean exhausted() {
        return exhausted;
    }

    /** Whether it keeps something that it has gathered. */
    boolean gathered() {
        return !frames.isEmpty();
    }

    /** How the connection is to be closed after what was composed, if it is. */
    @Nullable Close closing() {
        return closing;
    }

    /**
     * Composes up to a batch; null if there is nothing to write.
     *
     * @param headDue whether the opening is written though no event is there
     * @param rotate whether the connection is so old that it shall end
     * @param gathers whether it keeps less than a batch for the next time, unless it asks the client something or is the end
     * @param batch how many bytes make a batch, at least 1
     */
    @Nullable SseBatch next(boolean headDue, boolean rotate, boolean gathers, int batch) {
        String position = opened ? "" : reader.position();
        StreamReader.Next next = reader.read(Math.max(1, batch - frames.size()));
        if (!opened) {
            if (refusal != null && next instanceof StreamReader.End end && end.reason() == EndReason.STORE_FAILED) {
                refusal.run();
                closing = Close.IN_ORDER;
                return null;
            }
            boolean early = next == StreamReader.Rest.REST && !headDue;
            if (early || !(next instanceof StreamReader.Events || reader.recorded())) {
                return null;
            }
            open(position);
        }
        while (add(next) && frames.size() < batch) {
            next = reader.read(batch - frames.size());
        }
        exhausted = next == StreamReader.Rest.REST;
        if (closing == null && rotate && returnable) {
            heartbeat.finish(frames);
            handOver(ROTATION_RETRY_MILLIS);
        }
        if (closing == null) {
            heartbeat.beat(frames);
        }
        if (frames.isEmpty() || (gathers && closing == null && !asks && frames.size() < batch)) {
            return null;
        }
        asks = false;
        return frames.take();
    }

    private void open(String position) {
        opened = true;
        framing.open(frames, clock.retryMillis(), position);
    }

    /** Adds what was read; false if nothing can follow it now. */
    private boolean add(StreamReader.Next next) {
        if (next instanceof StreamReader.Events events) {
            heartbeat.finish(frames);
            events.events().forEach(this::add);
            returnable = !stays;
            return true;
        }
        if (next instanceof StreamReader.End end) {
            heartbeat.finish(frames);
            close(end);
        }
        return false;
    }

    private void add(Event event) {
        framing.add(frames, event, reader.position(event));
        asks |= EventKind.asks(event.kind());
    }

    private void close(StreamReader.End end) {
        Duration retry = clock.retry();
        switch (end.reason()) {
            case POLLING -> handOver(end.retry().orElse(retry).toMillis());
            case DRAINED, TAKEN_OVER ->
                handOver(retry.toMillis() + ThreadLocalRandom.current().nextLong(retry.toMillis() + 1));
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
