package dev.holdfast.benchmarks.jmh;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.EnvelopeReader;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** The scan of a call's envelope. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ScanBenchmark {
    /** Bytes of the text that the call carries. */
    @Param({"5", "1000", "100000"})
    public int text;

    private final EnvelopeReader reader = new EnvelopeReader();
    private byte[] call = {};

    /** Writes the call. */
    @Setup
    public void write() {
        call =
                ("{\"jsonrpc\":\"2.0\",\"id\":100000000,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\""
                                + "x".repeat(text) + "\"}}}")
                        .getBytes(UTF_8);
    }

    /** One call. */
    @Benchmark
    public Object scan() {
        return reader.read(call);
    }
}
