package dev.holdfast.servlet;

import dev.holdfast.spi.Event;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What differs between the protocol revisions on the wire. All legacy revisions, those with an {@code initialize} handshake,
 * share sessions, ids and resumption; they differ in batches and in how a stream is primed.
 *
 * @param revision the negotiated revision
 */
record Era(String revision) implements Framing {
    /** The revisions whose requests are taken, newest first. */
    static final List<String> SUPPORTED = List.of("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05");

    private static final String FIRST_PRIMED = "2025-11-25";
    private static final String BATCHES = "2025-03-26";
    private static final String FIRST_MODERN = "2026-07-28";
    private static final Pattern DATE = Pattern.compile("\\d{4}-\\d{2}-\\d{2}");
    private static final byte[] COMMENT = ":\n\n".getBytes(StandardCharsets.US_ASCII);

    /** Whether a POST may hold several messages. */
    boolean batches() {
        return revision.equals(BATCHES);
    }

    /**
     * The first bytes of a stream: how long to wait before a reconnect, and the position it starts at. Clients before
     * 2025-11-25 choke on an event without data, and get a comment in its place.
     */
    @Override
    public byte[] opening(long retryMillis, String position) {
        String retry = "retry: " + retryMillis + "\n";
        if (!tellsPosition()) {
            return concat(retry.getBytes(StandardCharsets.US_ASCII), COMMENT);
        }
        return (retry + "id: " + position + "\ndata: \n\n").getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public boolean tellsPosition() {
        return revision.compareTo(FIRST_PRIMED) >= 0;
    }

    @Override
    public void add(SseFrames frames, Event event, String position) {
        frames.add(event, position);
    }

    /** The modern, stateless revision that a request names, if it names one. */
    static Optional<String> modern(Optional<String> version) {
        return version.filter(v -> DATE.matcher(v).matches() && v.compareTo(FIRST_MODERN) >= 0);
    }

    private static byte[] concat(byte[] first, byte[] second) {
        byte[] both = new byte[first.length + second.length];
        System.arraycopy(first, 0, both, 0, first.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}
