package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;

/** What the events of a stream look like on the wire, what stands before the first and behind the last. */
public interface Framing {
    /** The media type of the response. */
    String contentType();

    /** Whether the client can come back for the rest where the connection ends before the stream. */
    boolean resumable();

    /** The first byte of a heartbeat, which is half of one; a line end follows. */
    byte[] beat();

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
