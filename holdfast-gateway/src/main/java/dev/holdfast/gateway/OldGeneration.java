package dev.holdfast.gateway;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryNotificationInfo;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.PlatformManagedObject;
import javax.management.NotificationEmitter;

/**
 * Bounds the garbage in the old generation of the serial collector. Java 17 collects that generation whenever it has grown; newer
 * releases let it grow up to the limit of the heap first, a quarter of the machine. Here it is collected when it is twice as large
 * as what the last collection of it has left.
 */
final class OldGeneration {
    private static final String POOL = "Tenured Gen";
    private static final String COLLECTOR = "MarkSweepCompact";
    private static final long LEAST_BYTES = 48L << 20;

    private final MemoryPoolMXBean pool;

    private OldGeneration(MemoryPoolMXBean pool) {
        this.pool = pool;
    }

    /** Watches it from now on; nothing where another collector was chosen. */
    static void watch() {
        ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getName().equals(POOL))
                .map(OldGeneration::new)
                .forEach(OldGeneration::begin);
    }

    private void begin() {
        on(ManagementFactory.getMemoryMXBean(), MemoryNotificationInfo.MEMORY_THRESHOLD_EXCEEDED, System::gc);
        ManagementFactory.getGarbageCollectorMXBeans().stream()
                .filter(collector -> collector.getName().equals(COLLECTOR))
                .forEach(collector -> on(
                        collector,
                        GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION,
                        this::setThreshold));
        setThreshold();
    }

    private static void on(PlatformManagedObject bean, String type, Runnable task) {
        ((NotificationEmitter) bean)
                .addNotificationListener(
                        (notification, nothing) -> {
                            if (notification.getType().equals(type)) {
                                task.run();
                            }
                        },
                        null,
                        null);
    }

    private void setThreshold() {
        long twice = Math.max(LEAST_BYTES, 2 * pool.getUsage().getUsed());
        pool.setUsageThreshold(Math.min(twice, pool.getUsage().getMax()));
    }
}
