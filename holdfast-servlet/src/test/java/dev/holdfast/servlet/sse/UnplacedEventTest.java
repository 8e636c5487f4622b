package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.StreamId;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** An event that no store has is written without an id: its client goes on from the one before. */
class UnplacedEventTest {
    private static Event event(long offset, String text) {
        return new Event(
                new StreamId(1, 1), new Epoch(1, 1), offset, EventKind.NOTIFICATION, null, text.getBytes(US_ASCII));
    }

    static List<Framing> framings() {
        return List.of(
                SseFraming.streamable("2025-11-25", ""),
                SseFraming.streamable("2025-03-26", ""),
                SseFraming.httpSse("/message", "k3tKx0V8", ""));
    }

    @ParameterizedTest
    @MethodSource("framings")
    void hasNoId(Framing framing) {
        SseConnection connection = Connections.of(new Ending(), framing);
        assertThat(connection.compose(true, false, false, 1 << 16)).isTrue();
        ByteBuffer all = connection.frames.take(connection.frames.size());
        String wire = US_ASCII.decode(all).toString();
        assertThat(wire).contains("at 1\nevent: message\ndata: stored\n\nevent: message\ndata: unstored\n\n");
        assertThat(connection.closing).isEqualTo(StreamReader.Close.IN_ORDER);
    }

    /** One event that is stored, one that is not, and the end. */
    private static final class Ending implements StreamReader {
        private final Queue<Next> nexts = new ArrayDeque<>(List.of(
                new Events(List.of(event(1, "stored"))),
                new Events(List.of(event(Event.UNPLACED, "unstored"))),
                new End(EndReason.TERMINATED, Optional.empty())));

        @Override
        public String position() {
            return "at 0";
        }

        @Override
        public String position(Event event) {
            return event.offset() == Event.UNPLACED ? "" : "at " + event.offset();
        }

        @Override
        public void wakeWith(Waker waker) {}

        @Override
        public void positionTold() {}

        @Override
        public boolean recorded() {
            return true;
        }

        @Override
        public Next read(int maxBytes) {
            return nexts.isEmpty() ? Rest.REST : nexts.remove();
        }

        @Override
        public void wrote(long began, long completed) {}

        @Override
        public void close(Close how) {}
    }
}
