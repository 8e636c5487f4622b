package dev.holdfast.benchmarks.server;

import com.sun.management.ThreadMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * What a server holds and has used.
 *
 * @param heap bytes in use
 * @param direct bytes of direct buffers
 * @param rss bytes resident
 * @param threads live threads
 * @param files open file descriptors
 * @param cpu nanoseconds of the process since its start
 * @param javaCpu nanoseconds of its living Java threads: without compiler and garbage collector
 * @param allocated bytes its living Java threads have allocated
 */
public record Stats(
        long heap, long direct, long rss, long threads, long files, long cpu, long javaCpu, long allocated) {

    /** The figures of this JVM. */
    public static Stats now() throws IOException {
        var system = (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long direct = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
        long[] ids = threads.getAllThreadIds();
        return new Stats(
                ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
                direct,
                resident(),
                threads.getThreadCount(),
                system.getOpenFileDescriptorCount(),
                system.getProcessCpuTime(),
                sum(threads.getThreadCpuTime(ids)),
                sum(threads.getThreadAllocatedBytes(ids)));
    }

    /** Without the threads that have ended meanwhile. */
    private static long sum(long[] values) {
        return Arrays.stream(values).filter(value -> value > 0).sum();
    }

    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) << 10;
            }
        }
        return 0;
    }

    /** All on one line, in order. */
    public String line() {
        return heap + " " + direct + " " + rss + " " + threads + " " + files + " " + cpu + " " + javaCpu + " "
                + allocated;
    }

    /** Reads {@link #line}. */
    public static Stats parse(String line) {
        long[] all = Arrays.stream(line.trim().split(" ", -1))
                .mapToLong(Long::parseLong)
                .toArray();
        return new Stats(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]);
    }
}
