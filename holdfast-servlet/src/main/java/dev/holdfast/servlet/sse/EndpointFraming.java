package dev.holdfast.servlet.sse;

import dev.holdfast.spi.Event;
import java.nio.charset.StandardCharsets;

/**
 * HTTP+SSE: the first event tells the client where to POST. Where the client may come back, ids name the session too, for a
 * browser's {@code EventSource} returns to the bare URL with nothing but {@code Last-Event-ID}.
 *
 * @param endpoint where to POST
 * @param session the session id, empty where nobody can come back
 */
public record EndpointFraming(String endpoint, String session) implements Framing {
    @Override
    public void open(SseFrames frames, long retryMillis, String position) {
        if (tellsPosition()) {
            frames.addRetry(retryMillis);
            frames.addId(id(position));
        }
        frames.add(("event: endpoint\ndata: " + endpoint + "\n\n").getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public boolean tellsPosition() {
        return !session.isEmpty();
    }

    @Override
    public void add(SseFrames frames, Event event, String position) {
        if (position.isEmpty() || !tellsPosition()) {
            frames.add(event);
        } else {
            frames.add(event, id(position));
        }
    }

    private String id(String position) {
        return session + '.' + position;
    }
}
