package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;

/** How the events of a stream are written, and what stands before the first and after the last. */
public interface Framing {
    /** The media type of the response. */
    String contentType();

    /** Whether the client can come back for the rest where the connection ends before the stream. */
    boolean resumable();

    /** The first byte of a heartbeat, which is half of one; a line end follows. */
    byte[] heartbeat();

    /** Adds the first bytes of a connection. */
    void open(SseFrames frames, long retryMillis, String position);

    /** Whether the first bytes tell the client its position, so that it can come back before it got an event. */
    boolean tellsPosition();

    /** Adds an event; where its position is empty, no client can come back to it. */
    void add(SseFrames frames, Event event, String position);

    /** The last bytes of a connection whose stream is at its end. */
    byte[] ending();

    /** The last bytes of a connection whose client shall come back. */
    byte[] closing(long retryMillis);
}
