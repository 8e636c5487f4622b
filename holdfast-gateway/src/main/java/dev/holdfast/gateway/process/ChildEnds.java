package dev.holdfast.gateway.process;

import dev.holdfast.gateway.process.Processes.Signal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All children that are ending. They are looked at together, by one thread at a time, and whoever waits for one of them holds no thread.
 * Thread-safe.
 */
final class ChildEnds {
    private static final Logger log = LoggerFactory.getLogger(ChildEnds.class);
    private static final long FIRST_PAUSE_MILLIS = 10;
    private static final long LAST_PAUSE_MILLIS = 100;
    /** How long a group may take to end after KILL before it is given up. */
    static final Duration KILL_GRACE = Duration.ofSeconds(5);

    private final Processes processes;
    private final Workers workers;
    private final Set<End> ends = new HashSet<>();
    private long pauseMillis = FIRST_PAUSE_MILLIS;
    private @Nullable Future<?> next;
    private boolean looking;

    private enum Stage {
        /** Its input is closed, and it has time to end by itself. */
        CLOSED,
        TERM,
        KILL,
        /** It does not even end by KILL. */
        GIVEN_UP
    }

    /** How far the end of one child is; changed by the thread that looks. */
    private static final class End {
        private final Object name;
        private final Process process;
        private final Duration termGrace;
        private final CompletableFuture<Void> gone = new CompletableFuture<>();
        private Stage stage = Stage.CLOSED;
        private long deadline;

        private End(Object name, Process process, Duration closeGrace, Duration termGrace) {
            this.name = name;
            this.process = process;
            this.termGrace = termGrace;
            this.deadline = System.nanoTime() + closeGrace.toNanos();
        }

        /** Whether it is time to look at its group: the child has exited, or had its time. */
        private boolean isDue(long now) {
            return stage != Stage.CLOSED || !process.isAlive() || deadline - now <= 0;
        }

        /** A process of the group still runs: goes to the next stage if it is time for that, and returns its signal. */
        private Optional<Signal> advance(long now) {
            if (stage == Stage.CLOSED) {
                stage = Stage.TERM;
                deadline = now + termGrace.toNanos();
                return Optional.of(Signal.TERM);
            }
            if (now - deadline < 0) {
                return Optional.empty();
            }
            if (stage == Stage.TERM) {
                log.debug("{}: still runs after TERM, and gets KILL", name);
                stage = Stage.KILL;
                deadline = now + KILL_GRACE.toNanos();
                return Optional.of(Signal.KILL);
            }
            log.warn("{}: its process group outlives KILL", name);
            stage = Stage.GIVEN_UP;
            return Optional.empty();
        }
    }

    ChildEnds(Processes processes, Workers workers) {
        this.processes = processes;
        this.workers = workers;
    }

    /**
     * Ends a child whose input is closed: it may go by itself, then its group gets TERM, then KILL.
     *
     * @param name for the log
     * @param closeGrace how long it may take to end by itself
     * @param termGrace how long its group may take after TERM
     * @return completes when nothing of the group is left, or it was given up
     */
    CompletionStage<Void> begin(Object name, Process process, Duration closeGrace, Duration termGrace) {
        End end = new End(name, process, closeGrace, termGrace);
        synchronized (this) {
            ends.add(end);
            if (pauseMillis > FIRST_PAUSE_MILLIS || next == null) {
                pauseMillis = FIRST_PAUSE_MILLIS;
                schedule();
            }
        }
        return end.gone;
    }

    private void schedule() {
        if (next != null) {
            next.cancel(false);
        }
        next = looking || ends.isEmpty() ? null : workers.later(this::look, pauseMillis, TimeUnit.MILLISECONDS);
    }

    private void look() {
        List<End> all;
        synchronized (this) {
            if (looking) {
                return;
            }
            looking = true;
            pauseMillis = Math.min(2 * pauseMillis, LAST_PAUSE_MILLIS);
            all = List.copyOf(ends);
        }
        long start = System.nanoTime();
        List<End> gone = new ArrayList<>();
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
        gone.forEach(end -> end.gone.complete(null));
    }

    private void look(List<End> all, List<End> gone) {
        long now = System.nanoTime();
        List<End> due = all.stream().filter(end -> end.isDue(now)).toList();
        if (due.isEmpty()) {
            return;
        }
        Set<Process> running =
                processes.running(due.stream().map(end -> end.process).toList());
        Map<Signal, List<Process>> signals = new EnumMap<>(Signal.class);
        for (End end : due) {
            boolean runs = running.contains(end.process);
            if (runs) {
                end.advance(now)
                        .ifPresent(signal -> signals.computeIfAbsent(signal, first -> new ArrayList<>())
                                .add(end.process));
            }
            if (!runs || end.stage == Stage.GIVEN_UP) {
                gone.add(end);
            }
        }
        signals.forEach((signal, children) -> processes.signal(children, signal));
    }
}
