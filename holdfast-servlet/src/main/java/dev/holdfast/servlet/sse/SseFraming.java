package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.spi.Event;

/**
 * Events as SSE has them.
 *
 * <p>All revisions with an {@code initialize} handshake share ids and resumption, and differ in the first bytes of a stream: clients before
 * 2025-11-25 choke on an event without data, and get a comment in its place.
 *
 * <p>Some clients fail on a {@code retry:} line, though every {@code EventSource} knows it: the SDK's Java client of 2.0.0 and older reads
 * data, ids, events and comments only. It never reconnects by itself, so it loses nothing. Another client that sends the default name of
 * the JDK's reconnects after a pause of its own choice.
 *
 * @param endpoint over HTTP+SSE what the first event tells the client, where to POST; else empty
 * @param session what stands before the position in an id: over HTTP+SSE the session, for a browser's {@code EventSource} returns to the
 *     bare URL with nothing but {@code Last-Event-ID}
 * @param ids whether events have ids
 * @param tellsPosition whether the first bytes have one
 * @param retries whether the client knows {@code retry:}
 */
public record SseFraming(String endpoint, String session, boolean ids, boolean tellsPosition, boolean retries)
        implements Framing {
    /** The media type of a stream of events. */
    public static final String EVENT_STREAM = "text/event-stream;charset=utf-8";

    private static final String FIRST_PRIMED = "2025-11-25";
    private static final String WITHOUT_RETRY = "Java-http-client/";
    private static final byte[] NO_DATA = "data: \n\n".getBytes(US_ASCII);
    private static final byte[] COMMENT = ":\n\n".getBytes(US_ASCII);
    private static final byte[] HEARTBEAT = ":".getBytes(US_ASCII);

    /**
     * The framing of Streamable HTTP in a revision.
     *
     * @param agent the client's {@code User-Agent}, empty if it does not say
     */
    public static SseFraming streamable(String revision, String agent) {
        boolean primed = revision.compareTo(FIRST_PRIMED) >= 0;
        return new SseFraming("", "", true, primed, !agent.startsWith(WITHOUT_RETRY));
    }

    /**
     * The framing of HTTP+SSE.
     *
     * @param session the session id, empty where nobody can come back
     */
    public static SseFraming httpSse(String endpoint, String session, String agent) {
        boolean returns = !session.isEmpty();
        String start = returns ? session + "." : "";
        return new SseFraming(endpoint, start, returns, returns, !agent.startsWith(WITHOUT_RETRY));
    }

    /** A stream of one message without an id, as a whole. */
    public static byte[] body(byte[] json) {
        SseFrames frames = new SseFrames();
        frames.addEvent("", "", json);
        return frames.takeAll();
    }

    @Override
    public String contentType() {
        return EVENT_STREAM;
    }

    @Override
    public int status() {
        return 200;
    }

    @Override
    public long headNanos() {
        return SseChannel.GATHER_NANOS;
    }

    @Override
    public long heartbeatNanos(long configured) {
        return configured;
    }

    @Override
    public boolean resumable() {
        return true;
    }

    @Override
    public byte[] heartbeat() {
        return HEARTBEAT;
    }

    @Override
    public void open(SseFrames frames, long retryMillis, String position) {
        if (retries && (endpoint.isEmpty() || ids)) {
            frames.addLine(SseFrames.RETRY, "", Long.toString(retryMillis));
        }
        if (tellsPosition) {
            frames.addLine(SseFrames.ID, session, position);
        }
        if (endpoint.isEmpty()) {
            frames.add(tellsPosition ? NO_DATA : COMMENT);
        } else {
            frames.add(("event: endpoint\ndata: " + endpoint + "\n\n").getBytes(US_ASCII));
        }
    }

    @Override
    public void add(SseFrames frames, Event event, String position) {
        frames.addEvent(session, ids ? position : "", event.bytes());
    }

    @Override
    public boolean over() {
        return false;
    }

    @Override
    public void tick(long age) {
        // it changes with its events only
    }

    @Override
    public byte[] ending() {
        return SseFrames.NOTHING;
    }

    @Override
    public byte[] closing(long retryMillis) {
        return retries ? ("retry: " + retryMillis + "\n\n").getBytes(US_ASCII) : COMMENT;
    }
}
