package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

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

    private static byte[] bytes(String json) {
        return json.getBytes(ISO_8859_1);
    }

    private static String frame(String id, String json) {
        return "id: " + id + "\nevent: message\ndata: "
                + json.replace('\n', ' ').replace('\r', ' ') + "\n\n";
    }

    private static String taken(SseFrames frames, int piece) {
        ByteArrayOutputStream wire = new ByteArrayOutputStream();
        while (frames.size() > 0) {
            ByteBuffer next = frames.take(Math.min(piece, frames.size()));
            wire.write(next.array(), next.arrayOffset() + next.position(), next.remaining());
        }
        return wire.toString(ISO_8859_1);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 4_096, 131_072, 10_000_000})
    void longAndShortMessagesComeInTheirOrder(int piece) {
        frames.addEvent("", "a", bytes(SHORT));
        frames.addEvent("", "b", bytes(LONG));
        frames.addEvent("", "c", bytes(LONG));
        frames.addEvent("", "d", bytes(SHORT));
        frames.add("retry: 1\n\n".getBytes(ISO_8859_1));
        String expected = frame("a", SHORT) + frame("b", LONG) + frame("c", LONG) + frame("d", SHORT) + "retry: 1\n\n";
        assertThat(frames.size()).isEqualTo(expected.length());
        assertThat(taken(frames, piece)).isEqualTo(expected);
        assertThat(frames.size()).isZero();
    }

    @Test
    void aMessageIsNotChangedByItsFrame() {
        byte[] message = bytes(LONG);
        frames.addEvent("", "", message);
        taken(frames, 5_000);
        assertThat(message).isEqualTo(bytes(LONG));
    }
}
