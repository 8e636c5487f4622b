package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
import java.nio.charset.StandardCharsets;

/**
 * The framing for clients that fail on a {@code retry:} line, though every {@code EventSource} knows it: the SDK's Java client of
 * 2.0.0 and older reads data, ids, events and comments only. It never comes back by itself, so that it misses nothing. Whoever else
 * uses the JDK's client without a name of his own comes back by his own pauses.
 *
 * @param framing what the stream looks like otherwise
 */
public record WithoutRetry(Framing framing) implements Framing {
    private static final String AGENT = "Java-http-client/";
    private static final byte[] COMMENT = ":\n\n".getBytes(StandardCharsets.US_ASCII);

    /**
     * The framing for a client.
     *
     * @param agent its {@code User-Agent}, empty if it does not say
     */
    public static Framing where(String agent, Framing framing) {
        return agent.startsWith(AGENT) ? new WithoutRetry(framing) : framing;
    }

    @Override
    public void open(SseFrames frames, long retryMillis, String position) {
        framing.open(frames, SseFrames.NO_RETRY, position);
    }

    @Override
    public boolean tellsPosition() {
        return framing.tellsPosition();
    }

    @Override
    public void add(SseFrames frames, Event event, String position) {
        framing.add(frames, event, position);
    }

    @Override
    public byte[] closing(long retryMillis) {
        return COMMENT.clone();
    }
}
