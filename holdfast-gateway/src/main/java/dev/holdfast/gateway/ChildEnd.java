package dev.holdfast.gateway;

import dev.holdfast.gateway.ProcessGroup.Signal;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of a process group as an ordered story: its input is closed and it may go by itself, then it is asked with TERM, then
 * it is ended with KILL.
 */
final class ChildEnd {
    private static final Logger log = LoggerFactory.getLogger(ChildEnd.class);
    private static final long FIRST_LOOK_MILLIS = 10;
    private static final long LAST_LOOK_MILLIS = 200;
    private static final Duration KILL_GRACE = Duration.ofSeconds(5);

    private final String name;
    private final Process process;
    private final ProcessGroup group;
    private final StdioOptions options;
    private final Workers workers;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CompletableFuture<Void> gone = new CompletableFuture<>();

    ChildEnd(String name, ProcessStarter.Started started, StdioOptions options, Workers workers) {
        this.name = name;
        this.process = started.process();
        this.group = started.group();
        this.options = options;
        this.workers = workers;
    }

    /** Ends the group, the patient way; completes when nothing of it is left. The caller closes the input. */
    CompletionStage<Void> begin() {
        if (begun.compareAndSet(false, true)) {
            CompletableFuture<Void> patience = new CompletableFuture<>();
            workers.clock().schedule(() -> patience.complete(null), nanos(options.closeGrace()), TimeUnit.NANOSECONDS);
            CompletableFuture.anyOf(process.onExit(), patience).thenRunAsync(this::terminate, workers.starters());
        }
        return gone;
    }

    /** Ends the group without waiting for the child to go by itself. */
    void beginAtOnce() {
        if (begun.compareAndSet(false, true)) {
            workers.starters().execute(this::terminate);
        }
    }

    /** Completes when nothing of the group is left. */
    CompletionStage<Void> gone() {
        return gone;
    }

    private void terminate() {
        group.signal(Signal.TERM);
        look(System.nanoTime() + nanos(options.termGrace()), FIRST_LOOK_MILLIS, this::kill);
    }

    private void kill() {
        log.debug("{}: still runs after TERM, and gets KILL", name);
        group.signal(Signal.KILL);
        process.destroyForcibly();
        look(System.nanoTime() + nanos(KILL_GRACE), FIRST_LOOK_MILLIS, () -> {
            log.warn("{}: its process group outlives KILL", name);
            gone.complete(null);
        });
    }

    /** Looks until the group is gone, or until it has had its time. */
    private void look(long deadline, long pauseMillis, Runnable late) {
        if (!process.isAlive() && !group.alive()) {
            gone.complete(null);
        } else if (System.nanoTime() - deadline >= 0) {
            late.run();
        } else {
            workers.clock()
                    .schedule(
                            () -> workers.starters()
                                    .execute(() -> look(deadline, Math.min(2 * pauseMillis, LAST_LOOK_MILLIS), late)),
                            pauseMillis,
                            TimeUnit.MILLISECONDS);
        }
    }

    private static long nanos(Duration duration) {
        return duration.toNanos();
    }
}
