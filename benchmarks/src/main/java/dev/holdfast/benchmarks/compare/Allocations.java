package dev.holdfast.benchmarks.compare;

import com.sun.management.ThreadMXBean;
import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.util.HashMap;
import java.util.Map;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** What the threads of another JVM have allocated since this began to look, those that have ended between two looks left out. */
final class Allocations implements AutoCloseable {
    /** Several, since what a reference queue holds goes only with the next one. */
    private static final int COLLECTIONS = 4;

    private final JMXConnector connector;
    private final ThreadMXBean threads;
    private final MemoryMXBean memory;
    private final Map<Long, Long> known = new HashMap<>();
    private long sum;

    private Allocations(JMXConnector connector) throws IOException {
        this.connector = connector;
        this.threads = ManagementFactory.newPlatformMXBeanProxy(
                connector.getMBeanServerConnection(), ManagementFactory.THREAD_MXBEAN_NAME, ThreadMXBean.class);
        this.memory = ManagementFactory.newPlatformMXBeanProxy(
                connector.getMBeanServerConnection(), ManagementFactory.MEMORY_MXBEAN_NAME, MemoryMXBean.class);
    }

    // the address is that of a process which this one has started itself
    @SuppressWarnings("BanJNDI")
    static Allocations of(long pid) throws IOException {
        try {
            VirtualMachine machine = VirtualMachine.attach(Long.toString(pid));
            String address = machine.startLocalManagementAgent();
            machine.detach();
            return new Allocations(JMXConnectorFactory.connect(new JMXServiceURL(address)));
        } catch (AttachNotSupportedException e) {
            throw new IOException("no JVM to attach to: process " + pid, e);
        }
    }

    long bytes() {
        long[] ids = threads.getAllThreadIds();
        long[] bytes = threads.getThreadAllocatedBytes(ids);
        for (int i = 0; i < ids.length; i++) {
            if (bytes[i] >= 0) {
                Long before = known.put(ids[i], bytes[i]);
                sum += bytes[i] - (before == null ? 0 : before);
            }
        }
        return sum;
    }

    /** Bytes of its heap that are in use behind some collections. */
    long collected() {
        for (int i = 0; i < COLLECTIONS; i++) {
            memory.gc();
        }
        return memory.getHeapMemoryUsage().getUsed();
    }

    @Override
    public void close() throws IOException {
        connector.close();
    }
}
