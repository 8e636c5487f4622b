package dev.holdfast.gateway;

import dev.holdfast.gateway.process.DaemonThreads;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends this process when the one that has started it is gone. The kernel then names another parent. Whether a process with the old number
 * exists says nothing: a zombie keeps it, and later another process may get it.
 */
final class ParentWatch {
    private static final Logger log = LoggerFactory.getLogger(ParentWatch.class);
    private static final long PERIOD_MILLIS = 500;

    /** The launcher has looked before it built or started anything. */
    private final long parent = Long.getLong("holdfast.parent", parent());

    /** Remembers the parent. Is made first of all, for the parent may end while this process starts. */
    ParentWatch() {}

    private static long parent() {
        return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(0L);
    }

    /** Watches from now on if {@code --exit-with-parent} is given. The hook that ends this process in order must be there. */
    void begin(KnobValues settings) {
        if (settings.get(Knobs.EXIT_WITH_PARENT)) {
            Future<?> unused = Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("holdfast-parent"))
                    .scheduleWithFixedDelay(this::look, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void look() {
        if (parent() != parent) {
            log.info("the process that has started this one, {}, is gone", parent);
            System.exit(0);
        }
    }
}
