package dev.holdfast.gateway;

import dev.holdfast.gateway.process.DaemonThreads;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Option;

/**
 * Ends this process when the one that has started it is gone: from then on another one is its parent. That is asked of the kernel now
 * and then, and not whether a process has the parent's number: one that was killed keeps it until somebody collects it, and then it may
 * be another's.
 */
final class ParentWatch {
    private static final Logger log = LoggerFactory.getLogger(ParentWatch.class);
    private static final long PERIOD_MILLIS = 500;

    @Option(
            names = "--exit-with-parent",
            description = "end as on SIGTERM when the process that has started this one is gone")
    private boolean wanted;

    /** The launcher has looked before it built or started anything. */
    private final long parent = Long.getLong("holdfast.parent", parent());

    private static long parent() {
        return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(0L);
    }

    /** Watches from now on, if that is wanted. What ends this process in order is a shutdown hook by now. */
    void begin() {
        if (wanted) {
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
