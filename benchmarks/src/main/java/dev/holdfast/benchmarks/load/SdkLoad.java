package dev.holdfast.benchmarks.load;

import java.io.IOException;
import java.time.Duration;

/** Has the server call the SDK's sessions itself: no HTTP and no transport, and so no latencies either. */
public final class SdkLoad implements Load {
    private final Target target;
    private final Workload workload;
    private final Meter meter;

    /** A load that opens nothing: the server has the sessions. */
    public SdkLoad(Target target, Workload workload, Meter meter) {
        this.target = target;
        this.workload = workload;
        this.meter = meter;
    }

    @Override
    public Sample run(Duration duration) throws IOException, InterruptedException {
        Usage before = meter.usage();
        long start = System.nanoTime();
        long answers = target.calls(workload.connections(), duration.toMillis());
        return Sample.withoutLatencies(answers, System.nanoTime() - start, before, meter.usage());
    }

    @Override
    public void close() {}
}
