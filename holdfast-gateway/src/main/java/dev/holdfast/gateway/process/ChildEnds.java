package dev.holdfast.gateway.process;

import dev.holdfast.gateway.process.Processes.Signal;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All children that are ending. They are looked at together, one thread at a time, and whoever waits for one of them holds no
 * thread. Thread-safe.
 */
final class ChildEnds {
    private static final Logger log = LoggerFactory.getLogger(ChildEnds.class);
    private static final long FIRST_PAUSE_MILLIS = 10;
    private static final long LAST_PAUSE_MILLIS = 100;

    private final Processes processes;
    private final Workers workers;
    private final Set<ChildEnd> ends = new HashSet<>();
    private long pauseMillis = FIRST_PAUSE_MILLIS;
    private @Nullable Future<?> next;
    private boolean looking;

    ChildEnds(Processes processes, Workers workers) {
        this.processes = processes;
        this.workers = workers;
    }

    /** Sees a child to its end, and looks at it soon; the caller closes its input. */
    void begin(ChildEnd end) {
        synchronized (this) {
            ends.add(end);
            if (pauseMillis > FIRST_PAUSE_MILLIS || next == null) {
                pauseMillis = FIRST_PAUSE_MILLIS;
                schedule();
            }
        }
    }

    private void schedule() {
        if (next != null) {
            next.cancel(false);
        }
        next = looking || ends.isEmpty()
                ? null
                : workers.clock()
                        .schedule(() -> workers.blocking().execute(this::look), pauseMillis, TimeUnit.MILLISECONDS);
    }

    private void look() {
        List<ChildEnd> all;
        synchronized (this) {
            if (looking) {
                return;
            }
            looking = true;
            pauseMillis = Math.min(2 * pauseMillis, LAST_PAUSE_MILLIS);
            all = List.copyOf(ends);
        }
        long start = System.nanoTime();
        List<ChildEnd> gone = new ArrayList<>();
        try {
            look(all, gone);
        } catch (RuntimeException | Error e) {
            log.error("processes that are ending could not be looked at; it is tried again", e);
        }
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        synchronized (this) {
            looking = false;
            gone.forEach(ends::remove);
            // many processes take long to look at: some of the processor is left to others
            pauseMillis = Math.max(pauseMillis, took);
            schedule();
        }
        gone.forEach(ChildEnd::complete);
    }

    private void look(List<ChildEnd> all, List<ChildEnd> gone) {
        long now = System.nanoTime();
        List<ChildEnd> due = all.stream().filter(end -> !end.patient(now)).toList();
        if (due.isEmpty()) {
            return;
        }
        Set<Process> running =
                processes.running(due.stream().map(ChildEnd::process).toList());
        Map<Signal, List<Process>> signals = new EnumMap<>(Signal.class);
        for (ChildEnd end : due) {
            if (running.contains(end.process())) {
                end.next(now)
                        .ifPresent(signal -> signals.computeIfAbsent(signal, first -> new ArrayList<>())
                                .add(end.process()));
            }
            if (!running.contains(end.process()) || end.givenUp()) {
                gone.add(end);
            }
        }
        signals.forEach((signal, children) -> processes.signal(children, signal));
    }
}
