package dev.holdfast.gateway;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/** What the memory of this machine, or of its container, has room for. */
final class MachineMemory {
    private static final int FEWEST_CHILDREN = 16;
    private static final int MOST_CHILDREN = 10_000;
    /** A server on Node.js takes some 60 MB when it starts, and half of the memory is left to others. */
    private static final long BYTES_OF_A_CHILD = 128L << 20;

    private MachineMemory() {}

    /** How many child processes there may be, unless somebody says so. */
    static int children() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                ? children(system.getTotalMemorySize())
                : FEWEST_CHILDREN;
    }

    /** The same for a machine with so many bytes of memory. */
    static int children(long bytes) {
        return (int) Math.max(FEWEST_CHILDREN, Math.min(MOST_CHILDREN, bytes / BYTES_OF_A_CHILD));
    }
}
