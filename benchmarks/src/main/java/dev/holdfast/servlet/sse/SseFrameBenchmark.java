package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.StreamId;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** An event on its way into an SSE frame. It stands in this package because the frames do. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SseFrameBenchmark {
    /** Bytes of the message. */
    @Param({"100", "10000"})
    public int bytes;

    private final SseFrames frames = new SseFrames();
    private Event event = event(0);

    /** Writes the message. */
    @Setup
    public void write() {
        event = event(bytes);
    }

    private static Event event(int bytes) {
        return new Event(
                new StreamId(1, 1),
                new Epoch(1, 1),
                1,
                EventKind.NOTIFICATION,
                null,
                ("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\"" + "x".repeat(bytes) + "\"}")
                        .getBytes(UTF_8));
    }

    /** One event, and what was gathered. */
    @Benchmark
    public Object frame() {
        frames.add(event, "1.1.1.1jns7bu.1");
        return frames.take(frames.size());
    }
}
