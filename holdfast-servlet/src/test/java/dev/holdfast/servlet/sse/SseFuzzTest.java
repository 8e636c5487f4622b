package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.holdfast.EndReason;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.StreamId;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;

/**
 * Any messages, with heartbeats and ends between them, on a stream that the store knows sooner or later: another reader of SSE
 * finds the same messages in what was composed.
 *
 * <p>Like its sisters it is a test of a few known inputs in a build. {@code JAZZER_FUZZ=1 mvn -pl holdfast-servlet -am test
 * -Dtest=SseFuzzTest} looks for new ones for three minutes, guided by what they reach; an
 * input that fails is kept beside the known ones. One such test at a time.
 */
class SseFuzzTest {
    private static final int PIECE = 100;
    private static final StreamId STREAM = new StreamId(1, 2);
    private static final Epoch EPOCH = new Epoch(1, -7);
    private static final String ENDPOINT = "/message?sessionId=k3tKx0V8";
    private static final long HEARTBEAT_NANOS = 1_000_000_000;

    @FuzzTest(maxDuration = "3m")
    void whatIsComposedIsReadBack(FuzzedDataProvider data) {
        SseFraming framing = data.pickValue(List.of(
                SseFraming.streamable("2025-11-25", ""),
                SseFraming.streamable("2025-03-26", ""),
                SseFraming.httpSse(ENDPOINT, "", ""),
                SseFraming.httpSse(ENDPOINT, "k3tKx0V8", "")));
        Script script = new Script(data.consumeBoolean());
        SseConnection connection = Connections.of(script, framing);
        List<SseText.Read> expected = new ArrayList<>();
        if (!framing.endpoint().isEmpty()) {
            expected.add(new SseText.Read(script.idOf(framing, script.position()), "endpoint", ENDPOINT));
        }
        ByteArrayOutputStream wire = new ByteArrayOutputStream();
        long now = 0;
        while (data.remainingBytes() > 0 && connection.closing == null) {
            switch (data.consumeInt(0, 6)) {
                case 0 -> connection.heartbeatDue(now += 2 * HEARTBEAT_NANOS, 0, data.consumeBoolean());
                case 1 ->
                    write(
                            connection,
                            connection.compose(
                                    data.consumeBoolean(),
                                    data.consumeBoolean(),
                                    data.consumeBoolean(),
                                    data.consumeInt(1, SseChannel.BATCH_BYTES)),
                            wire);
                case 2 -> script.end(data.pickValue(EndReason.values()));
                case 3 -> script.record();
                default -> {
                    byte[] message = data.consumeBytes(data.consumeInt(1, 300));
                    if (message.length > 0) {
                        String line = new String(message, ISO_8859_1)
                                .replace('\n', ' ')
                                .replace('\r', ' ');
                        String id = script.add(message);
                        expected.add(new SseText.Read(script.idOf(framing, id), "message", line));
                    }
                }
            }
            assertThat(wire.size() == 0 || script.returnable())
                    .as("only to what can be found again a client is told the way")
                    .isTrue();
        }
        script.record();
        while (connection.closing == null
                && write(connection, connection.compose(true, false, false, SseChannel.BATCH_BYTES), wire)) {
            // until there is nothing left to write
        }
        List<SseText.Read> read = SseText.read(wire.toString(ISO_8859_1));
        assertThat(read).isEqualTo(expected.subList(0, script.taken(expected, connection)));
    }

    private static boolean write(SseConnection connection, boolean ready, ByteArrayOutputStream wire) {
        if (!ready) {
            return false;
        }
        SseFrames frames = connection.frames;
        while (frames.size() > 0) {
            ByteBuffer piece = frames.take(Math.min(frames.size(), PIECE));
            wire.write(piece.array(), piece.arrayOffset() + piece.position(), piece.remaining());
        }
        return true;
    }

    /** A cursor over the messages of a test. */
    private static final class Script implements StreamReader {
        private final Queue<Next> nexts = new ArrayDeque<>();
        private long appended;
        private long delivered;
        private boolean ended;
        private boolean recorded;

        private Script(boolean recorded) {
            this.recorded = recorded;
        }

        void record() {
            recorded = true;
        }

        /** Whether the store knows the stream, be it by an event. */
        boolean returnable() {
            return recorded || delivered > 0;
        }

        /** Adds a message, unless the end was told already; returns its position. */
        String add(byte[] message) {
            if (!ended) {
                nexts.add(new Events(List.of(new Event(STREAM, EPOCH, appended + 1, (byte) 1, null, message))));
            }
            appended++;
            return position(appended);
        }

        void end(EndReason reason) {
            if (!ended) {
                nexts.add(new End(reason, Optional.of(Duration.ofSeconds(1))));
            }
            ended = true;
        }

        /** How many of the expected events were handed out; those after a rotation or an end were not. */
        int taken(List<SseText.Read> expected, SseConnection connection) {
            int opening = expected.size() - (int) appended;
            return (connection.opened ? opening : 0) + (int) delivered;
        }

        String idOf(SseFraming framing, String position) {
            return framing.ids() ? framing.session() + position : "";
        }

        private static String position(long offset) {
            return "1.2.1.x." + offset;
        }

        @Override
        public String position() {
            return position(delivered);
        }

        @Override
        public boolean recorded() {
            return recorded;
        }

        @Override
        public String position(Event event) {
            return position(event.offset());
        }

        @Override
        public Next read(int maxBytes) {
            if (nexts.peek() instanceof Events events) {
                delivered += events.events().size();
                return nexts.remove();
            }
            return nexts.isEmpty() ? Rest.REST : nexts.element();
        }

        @Override
        public void wakeWith(Waker waker) {}

        @Override
        public void positionTold() {}

        @Override
        public void wrote(long began, long completed) {}

        @Override
        public void close(Close how) {}
    }
}
