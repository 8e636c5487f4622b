package dev.holdfast.gateway;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Processes that a script has told the numbers of, in a file. */
public record Pids(List<Long> pids) {
    /** Waits until the file has so many numbers, and a line end behind them. */
    public static Pids readFrom(Path file, int count) {
        List<Long> found = new ArrayList<>();
        Wait.until("the script tells its process numbers", () -> {
            found.clear();
            found.addAll(read(file));
            return found.size() == count;
        });
        return new Pids(List.copyOf(found));
    }

    private static List<Long> read(Path file) {
        try {
            String text = Files.exists(file) ? Files.readString(file) : "";
            return text.endsWith("\n")
                    ? Arrays.stream(text.trim().split("\\s+"))
                            .map(Long::valueOf)
                            .toList()
                    : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills one of them. */
    public void kill(int index) {
        ProcessHandle.of(pids.get(index)).ifPresent(ProcessHandle::destroyForcibly);
    }

    /** Whether each of them runs. */
    public boolean run() {
        return pids.stream().allMatch(Pids::runs);
    }

    /** Whether none of them runs any more. */
    public boolean ended() {
        return pids.stream().noneMatch(Pids::runs);
    }

    /** A process that nobody has asked for its exit code has ended all the same. */
    private static boolean runs(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
        } catch (IOException e) {
            return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false)
                    && !Files.exists(Path.of("/proc/self"));
        }
    }
}
