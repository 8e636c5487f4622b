package dev.holdfast.gateway.process;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Frees what the kernel caches for the files that a new child inherited.
 *
 * <p>The JDK starts a process by a helper that lists {@code /proc/self/fd} and closes every file of ours. For each listed entry the kernel
 * keeps an inode of a kilobyte until the process is reaped. With 9,000 open files, 3,000 children hold gigabytes of them, and reaping them
 * takes most of a minute. A lookup of its name after its file was closed frees an entry earlier. Thread-safe.
 */
public final class InheritedEntries {
    private static final Path PROC = Path.of("/proc");
    /** Behind this many numbers in a row without an open file, none is looked for. */
    private static final int LAST_GAP = 64;

    private static final int FIRST_INHERITED = 3;
    private final Path ownFiles = PROC.resolve("self/fd");
    private final boolean shown = Files.isDirectory(ownFiles);
    /** Above every number that an open file of this process ever had. */
    private final AtomicInteger end = new AtomicInteger(FIRST_INHERITED);

    /** Frees the entries of a child that runs; takes some microseconds for each file that this process has open. */
    public void forget(Process child) {
        if (!shown) {
            return;
        }
        Path files = PROC.resolve(Long.toString(child.pid())).resolve("fd");
        int last = highest();
        for (int file = FIRST_INHERITED; file < last; file++) {
            found(files, file);
        }
    }

    private int highest() {
        int next = end.get();
        for (int gap = 0; gap < LAST_GAP; next++) {
            gap = found(ownFiles, next) ? 0 : gap + 1;
        }
        return end.accumulateAndGet(next - LAST_GAP, Math::max);
    }

    /** A link is not followed: behind it may be a file system that does not answer. */
    private static boolean found(Path files, int file) {
        return Files.exists(files.resolve(Integer.toString(file)), LinkOption.NOFOLLOW_LINKS);
    }
}
