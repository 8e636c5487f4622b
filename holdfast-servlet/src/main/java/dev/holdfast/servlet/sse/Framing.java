package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
import java.nio.charset.StandardCharsets;

/** What the events of a stream look like on the wire, and what stands before the first. */
public interface Framing {
    /** The first bytes of a connection. */
    byte[] opening(long retryMillis, String position);

    /** Whether the first bytes tell the client its position, so that it can come back before it got an event. */
    boolean tellsPosition();

    /** Adds an event. */
    void add(SseFrames frames, Event event, String position);

    /** The last bytes of a connection whose client shall come back. */
    default byte[] closing(long retryMillis) {
        return ("retry: " + retryMillis + "\n\n").getBytes(StandardCharsets.US_ASCII);
    }
}
