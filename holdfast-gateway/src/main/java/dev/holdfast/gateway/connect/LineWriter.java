package dev.holdfast.gateway.connect;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes messages, one on each line, by a thread of its own: a client that does not read stops nobody but those who write to it. */
final class LineWriter implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LineWriter.class);
    private static final int BUFFER = 65_536;
    private static final long PATIENCE_SECONDS = 1;

    private final OutputStream out;
    private final CompletableFuture<Void> unread = new CompletableFuture<>();
    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread writer = new Thread(task, "holdfast-stdout");
        writer.setDaemon(true);
        return writer;
    });

    LineWriter(OutputStream out) {
        this.out = new BufferedOutputStream(out, BUFFER);
    }

    /** Completes when it turns out that nobody reads any more. */
    CompletionStage<Void> unread() {
        return unread;
    }

    /** Writes a line; the stage completes when it is written, and fails when nobody reads any more. */
    CompletionStage<Void> write(byte[] line) {
        try {
            return CompletableFuture.runAsync(() -> writeNow(line), thread);
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void writeNow(byte[] line) {
        try {
            out.write(line);
            out.write('\n');
            out.flush();
        } catch (IOException e) {
            log.debug("nobody reads the output any more", e);
            unread.complete(null);
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        thread.shutdown();
        try {
            if (!thread.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                thread.shutdownNow();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
