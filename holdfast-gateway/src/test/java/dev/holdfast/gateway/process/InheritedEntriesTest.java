package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("timing")
@Timeout(120)
class InheritedEntriesTest {
    private static final int FILES = 8_000;
    private static final int CHILDREN = 30;
    /** The least of so many says what it takes when nothing else is in the way. */
    private static final int ROUNDS = 3;

    private final InheritedEntries entries = new InheritedEntries();

    @Test
    void aChildWhoseEntriesAreForgottenIsReapedInATimeThatDoesNotGrowWithOurFiles()
            throws IOException, InterruptedException {
        List<InputStream> files = new ArrayList<>();
        try {
            while (files.size() < FILES) {
                files.add(new FileInputStream("/dev/null"));
            }
            long kept = Long.MAX_VALUE;
            long forgotten = Long.MAX_VALUE;
            for (int round = 0; round < ROUNDS; round++) {
                kept = Math.min(kept, reapNanos(child -> {}));
                forgotten = Math.min(forgotten, reapNanos(entries::forget));
            }

            assertThat(forgotten).isLessThan(kept / 3);
        } finally {
            for (InputStream file : files) {
                file.close();
            }
        }
    }

    @Test
    void aChildThatHasEndedIsNoError() throws IOException, InterruptedException {
        Process child = new ProcessBuilder("true").start();
        child.waitFor();

        entries.forget(child);

        assertThat(child.exitValue()).isZero();
    }

    /** How long children take from the end of their input until their exit codes are known. */
    private static long reapNanos(Consumer<Process> started) throws IOException, InterruptedException {
        List<Process> children = new ArrayList<>();
        try {
            for (int i = 0; i < CHILDREN; i++) {
                Process child = new ProcessBuilder("cat").start();
                children.add(child);
                started.accept(child);
            }
            long start = System.nanoTime();
            for (Process child : children) {
                child.getOutputStream().close();
            }
            for (Process child : children) {
                child.waitFor();
            }
            return System.nanoTime() - start;
        } finally {
            children.forEach(Process::destroyForcibly);
        }
    }
}
