package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.StreamId;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SseFramesTest {
    /** So long that it is not gathered. */
    private static final String LONG = "[1,\r\n" + "x".repeat(400_000) + "\n]";

    private static final String SHORT = "[2,\n3]";

    private final SseFrames frames = new SseFrames();

    private static Event event(String json) {
        return new Event(new StreamId(1, 1), new Epoch(1, 1), 1, (byte) 1, null, json.getBytes(ISO_8859_1));
    }

    private static String frame(String id, String json) {
        return "id: " + id + "\nevent: message\ndata: "
                + json.replace('\n', ' ').replace('\r', ' ') + "\n\n";
    }

    private static String taken(SseFrames frames, int piece) {
        ByteArrayOutputStream wire = new ByteArrayOutputStream();
        while (!frames.isEmpty()) {
            ByteBuffer next = frames.take(Math.min(piece, frames.size()));
            wire.write(next.array(), next.arrayOffset() + next.position(), next.remaining());
        }
        return wire.toString(ISO_8859_1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 4_096, 131_072, 10_000_000})
    void longAndShortMessagesComeInTheirOrder(int piece) {
        frames.add(event(SHORT), "a");
        frames.add(event(LONG), "b");
        frames.add(event(LONG), "c");
        frames.add(event(SHORT), "d");
        frames.add("retry: 1\n\n".getBytes(ISO_8859_1));
        String expected = frame("a", SHORT) + frame("b", LONG) + frame("c", LONG) + frame("d", SHORT) + "retry: 1\n\n";
        assertThat(frames.size()).isEqualTo(expected.length());
        assertThat(taken(frames, piece)).isEqualTo(expected);
        assertThat(frames.isEmpty()).isTrue();
    }

    @Test
    void aMessageIsNotChangedByItsFrame() {
        Event event = event(LONG);
        byte[] before = event.bytes().clone();
        frames.add(event);
        taken(frames, 5_000);
        assertThat(event.bytes()).isEqualTo(before);
    }
}
