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
    private final Set<End> ends = new HashSet<>();
    private long pauseMillis = FIRST_PAUSE_MILLIS;
    private @Nullable Future<?> next;
    private boolean looking;

    ChildEnds(Processes processes, Workers workers) {
        this.processes = processes;
        this.workers = workers;
    }

    /** Sees a child to its end, and looks at it soon; the caller closes its input. */
    void begin(End end) {
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
        gone.forEach(End::complete);
    }

    private void look(List<End> all, List<End> gone) {
        long now = System.nanoTime();
        List<End> due = all.stream().filter(end -> !end.patient(now)).toList();
        if (due.isEmpty()) {
            return;
        }
        Set<Process> running = processes.running(due.stream().map(End::process).toList());
        Map<Signal, List<Process>> signals = new EnumMap<>(Signal.class);
        for (End end : due) {
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

    /**
     * How far the end of one child is: its input is closed and it may go by itself, then its group is asked with TERM, then it is
     * ended with KILL. Its time is that of {@link System#nanoTime}. For {@link ChildEnds}, one thread at a time.
     */
    static final class End {
        private static final Logger log = LoggerFactory.getLogger(End.class);
        private static final Duration KILL_GRACE = Duration.ofSeconds(5);

        private enum Stage {
            /** Its input is closed, and it has time to end by itself. */
            ASKED,
            TERM,
            KILL,
            /** It does not even end by KILL. */
            GIVEN_UP
        }

        private final Object name;
        private final Process process;
        private final Duration termGrace;
        private final CompletableFuture<Void> gone;
        private Stage stage = Stage.ASKED;
        private long deadline;

        /**
         * An end that begins now.
         *
         * @param closeGrace how long it may take to end by itself
         * @param termGrace how long its group may take after TERM
         * @param gone completes when nothing of the group is left
         */
        End(Object name, Process process, Duration closeGrace, Duration termGrace, CompletableFuture<Void> gone) {
            this.name = name;
            this.process = process;
            this.termGrace = termGrace;
            this.gone = gone;
            this.deadline = System.nanoTime() + closeGrace.toNanos();
        }

        Process process() {
            return process;
        }

        /** Whether it may still end by itself, so that there is no need to look. */
        boolean patient(long now) {
            return stage == Stage.ASKED && process.isAlive() && deadline - now > 0;
        }

        /** A process of the group still runs: returns the next signal, if it is time for one. */
        Optional<Signal> next(long now) {
            if (stage == Stage.ASKED) {
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

        /** Whether the group was given up although a process of it still runs. */
        boolean givenUp() {
            return stage == Stage.GIVEN_UP;
        }

        void complete() {
            gone.complete(null);
        }
    }
}
