package dev.holdfast.benchmarks.compare;

import dev.holdfast.benchmarks.load.Meter;
import dev.holdfast.benchmarks.load.Usage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** What a process uses, seen from outside: the same for every server, whoever wrote it. Its children are not counted. */
final class ProcessMeter implements Meter, AutoCloseable {
    private final ProcessHandle process;
    private final Peer.Platform platform;
    private Optional<Allocations> allocations = Optional.empty();

    ProcessMeter(ProcessHandle process, Peer.Platform platform) {
        this.process = process;
        this.platform = platform;
    }

    @Override
    public Usage usage() throws IOException {
        if (platform == Peer.Platform.JVM && allocations.isEmpty()) {
            allocations = Optional.of(Allocations.of(process.pid()));
        }
        double allocated = allocations.isPresent() ? allocations.get().bytes() : Double.NaN;
        return new Usage(process.info().totalCpuDuration().orElseThrow().toNanos(), allocated, resident(process.pid()));
    }

    /** Bytes, from Linux's view of the process; 0 elsewhere. */
    private static long resident(long pid) throws IOException {
        Path status = Path.of("/proc", Long.toString(pid), "status");
        if (!Files.exists(status)) {
            return 0;
        }
        try (var lines = Files.lines(status)) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                    .sum();
        }
    }

    @Override
    public void close() throws IOException {
        if (allocations.isPresent()) {
            allocations.get().close();
        }
    }
}
