package dev.holdfast.rocksdb;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The store's own threads: daemons with a name. */
final class StoreThreads {
    private StoreThreads() {}

    static ThreadFactory named(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Waits until a thread that was shut down has ended; false if it has not in time. */
    static boolean ended(ExecutorService thread, long time, TimeUnit unit) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return thread.awaitTermination(time, unit);
                } catch (InterruptedException e) {
                    // a close is finished even so, or native memory would be used after it
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
