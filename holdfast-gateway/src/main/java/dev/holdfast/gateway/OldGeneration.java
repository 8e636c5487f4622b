package dev.holdfast.gateway;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryNotificationInfo;
import java.lang.management.MemoryPoolMXBean;
import javax.management.NotificationEmitter;

/**
 * Bounds the garbage in the old generation of the serial collector. Java 17 collects that generation whenever it has grown; newer
 * releases let it grow up to the limit of the heap first, a quarter of the machine. Here it is collected when it is twice as large
 * as what was left of it.
 */
final class OldGeneration {
    private static final String SERIAL = "Tenured Gen";
    private static final long LEAST_BYTES = 48L << 20;

    private final MemoryPoolMXBean pool;

    private OldGeneration(MemoryPoolMXBean pool) {
        this.pool = pool;
    }

    /** Watches it from now on; nothing where another collector was chosen. */
    static void watch() {
        ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getName().equals(SERIAL))
                .map(OldGeneration::new)
                .forEach(OldGeneration::begin);
    }

    private void begin() {
        NotificationEmitter memory = (NotificationEmitter) ManagementFactory.getMemoryMXBean();
        memory.addNotificationListener(
                (notification, pool) -> {
                    if (notification.getType().equals(MemoryNotificationInfo.MEMORY_THRESHOLD_EXCEEDED)) {
                        System.gc();
                        setThreshold();
                    }
                },
                null,
                null);
        setThreshold();
    }

    private void setThreshold() {
        long twice = Math.max(LEAST_BYTES, 2 * pool.getUsage().getUsed());
        pool.setUsageThreshold(Math.min(twice, pool.getUsage().getMax()));
    }
}
