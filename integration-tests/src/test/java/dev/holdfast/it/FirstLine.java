package dev.holdfast.it;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What a process says first. */
final class FirstLine {
    private static final long PATIENCE_SECONDS = 60;

    private FirstLine() {}

    /** Waits for it. Nothing interrupts a read of a pipe: a process that says nothing in time is killed. */
    static String of(Process process) throws IOException {
        CompletableFuture<Void> late = CompletableFuture.runAsync(
                process::destroyForcibly, CompletableFuture.delayedExecutor(PATIENCE_SECONDS, TimeUnit.SECONDS));
        try {
            String line = process.inputReader().readLine();
            if (line == null) {
                throw new IOException("the process has ended, or was killed for saying nothing");
            }
            return line;
        } finally {
            late.cancel(false);
        }
    }
}
