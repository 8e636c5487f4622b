package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;

/** How the events of a stream are written, and what stands before the first and after the last. */
public interface Framing {
    /** The media type of the response, when its first bytes are written. */
    String contentType();

    /** The status of the response, when its first bytes are written. */
    int status();

    /** How long the head of the response waits for the first event, in nanoseconds. */
    long headNanos();

    /**
     * How long the connection may be silent before a heartbeat, in nanoseconds.
     *
     * @param configured how long others may
     */
    long heartbeatNanos(long configured);

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

    /** Whether the connection is to end with what was added, whatever follows in its stream. */
    boolean over();

    /**
     * Looks at the time; on the thread of the clock, must not block.
     *
     * @param age how long the connection has been there, in nanoseconds
     */
    void tick(long age);

    /** The last bytes of a connection whose stream is at its end. */
    byte[] ending();

    /** The last bytes of a connection whose client shall come back. */
    byte[] closing(long retryMillis);
}
