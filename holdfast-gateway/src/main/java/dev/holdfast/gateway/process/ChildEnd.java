package dev.holdfast.gateway.process;

import dev.holdfast.gateway.process.Processes.Signal;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How far the end of one child is: its input is closed and it may go by itself, then its group is asked with TERM, then it is
 * ended with KILL. Its time is that of {@link System#nanoTime}. For {@link ChildEnds}, one thread at a time.
 */
final class ChildEnd {
    private static final Logger log = LoggerFactory.getLogger(ChildEnd.class);
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
    ChildEnd(Object name, Process process, Duration closeGrace, Duration termGrace, CompletableFuture<Void> gone) {
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
