package dev.holdfast.servlet.sse;

import static java.nio.charset.StandardCharsets.UTF_8;

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
    private byte[] message = {};

    /** Writes the message. */
    @Setup
    public void write() {
        message = ("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\"" + "x".repeat(bytes)
                        + "\"}")
                .getBytes(UTF_8);
    }

    /** One event, and what was gathered. */
    @Benchmark
    public Object frame() {
        frames.addEvent("", "1.1.1.1jns7bu.1", message);
        return frames.take(frames.size());
    }
}
