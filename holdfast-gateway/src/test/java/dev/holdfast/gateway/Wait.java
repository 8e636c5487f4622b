package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what must come, and not for ever. */
public final class Wait {
    public static final Duration PATIENCE = Duration.ofSeconds(20);
    /** For a process that may have to start first, beside many others. */
    static final Duration START = Duration.ofSeconds(60);

    /** Between two looks: what comes at once is seen at once, and a long wait takes little of the processor. */
    private static final long SHORTEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

    private Wait() {}

    /** Waits for a condition. */
    public static void until(String what, BooleanSupplier condition) {
        until(what, PATIENCE, condition);
    }

    /** Waits for a condition that much has to be done for. */
    static void until(String what, Duration patience, BooleanSupplier condition) {
        long start = System.nanoTime();
        long pause = SHORTEST_PAUSE_NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > patience.toNanos()) {
                throw new AssertionError("did not come true: " + what);
            }
            LockSupport.parkNanos(pause);
            pause = Math.min(pause * 5 / 4, LONGEST_PAUSE_NANOS);
        }
    }

    /** Waits for a stage. */
    public static <T> T until(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError("did not complete", e);
        }
    }

    /**
     * Kills a process, if it has not ended before, and waits for its end. Not by {@link Process#onExit}: of one that has ended that may
     * wait for another which has got its number.
     */
    public static void untilKilled(Process process) {
        try {
            process.destroyForcibly().waitFor();
        } catch (InterruptedException e) {
            throw new AssertionError("did not end", e);
        }
    }

    /** Waits for the next line of a process; empty at its end. A thread that reads would mind no interruption, so that another does. */
    static Optional<String> line(BufferedReader out) {
        CompletableFuture<Optional<String>> line = new CompletableFuture<>();
        Thread reader = new Thread(
                () -> {
                    try {
                        line.complete(Optional.ofNullable(out.readLine()));
                    } catch (IOException | UncheckedIOException e) {
                        line.completeExceptionally(e);
                    }
                },
                "test-reader");
        reader.setDaemon(true);
        reader.start();
        try {
            return line.get(START.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError("no line came", e);
        }
    }

    /** Waits for a process to say on its first line where it listens; returns that line. */
    static String listening(Process gateway) {
        String line = line(gateway.inputReader()).orElse("the end");
        assertThat(line).as("the first line").contains(" listens on http");
        return line;
    }

    /** Waits for somebody else to be so far. */
    public static void until(CountDownLatch latch) {
        try {
            if (!latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("did not come true");
            }
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }

    /** Waits for the next element. */
    public static <T> T next(BlockingQueue<T> queue) {
        try {
            T next = queue.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            if (next == null) {
                throw new AssertionError("nothing came");
            }
            return next;
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }
}
