package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
import java.nio.charset.StandardCharsets;

/** What the events of a stream look like on the wire, and what stands before the first. */
public interface Framing {
    /** The media type of a stream of events. */
    String EVENT_STREAM = "text/event-stream;charset=utf-8";

    /** What the response says that it is. */
    default String contentType() {
        return EVENT_STREAM;
    }

    /** Whether the client can come back for the rest where the connection ends before the stream. */
    default boolean resumable() {
        return true;
    }

    /** The first byte of a heartbeat, which is half of one; a line end follows. */
    default byte[] beat() {
        return Heartbeat.COMMENT;
    }

    /** Adds the first bytes of a connection. */
    void open(SseFrames frames, long retryMillis, String position);

    /** Whether the first bytes tell the client its position, so that it can come back before it got an event. */
    boolean tellsPosition();

    /** Adds an event; where its position is empty, no client can come back to it. */
    void add(SseFrames frames, Event event, String position);

    /** The last bytes of a connection whose stream is at its end. */
    default byte[] ending() {
        return SseFrames.NOTHING;
    }

    /** The last bytes of a connection whose client shall come back. */
    default byte[] closing(long retryMillis) {
        return ("retry: " + retryMillis + "\n\n").getBytes(StandardCharsets.US_ASCII);
    }
}
