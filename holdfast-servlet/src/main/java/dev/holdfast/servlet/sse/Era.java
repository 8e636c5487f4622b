package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
import java.nio.charset.StandardCharsets;

/**
 * What differs between the protocol revisions on the wire. All legacy revisions, those with an {@code initialize} handshake,
 * share sessions, ids and resumption; they differ in batches and in how a stream is primed.
 *
 * @param revision the negotiated revision
 */
public record Era(String revision) implements Framing {
    private static final String FIRST_PRIMED = "2025-11-25";
    private static final String BATCHES = "2025-03-26";
    private static final byte[] NO_DATA = "data: \n\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] COMMENT = ":\n\n".getBytes(StandardCharsets.US_ASCII);

    /** Whether a POST may hold several messages. */
    public boolean batches() {
        return revision.equals(BATCHES);
    }

    /**
     * The first bytes of a stream: how long to wait before a reconnect, and the position it starts at. Clients before
     * 2025-11-25 choke on an event without data, and get a comment in its place.
     */
    @Override
    public void open(SseFrames frames, long retryMillis, String position) {
        frames.addRetry(retryMillis);
        if (tellsPosition()) {
            frames.addId(position);
            frames.add(NO_DATA);
        } else {
            frames.add(COMMENT);
        }
    }

    @Override
    public boolean tellsPosition() {
        return revision.compareTo(FIRST_PRIMED) >= 0;
    }

    @Override
    public void add(SseFrames frames, Event event, String position) {
        if (position.isEmpty()) {
            frames.add(event);
        } else {
            frames.add(event, position);
        }
    }
}
