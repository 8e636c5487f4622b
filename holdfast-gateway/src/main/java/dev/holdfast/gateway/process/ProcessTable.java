package dev.holdfast.gateway.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * The processes of the machine, where {@code /proc} shows them. Unlike {@code kill}, it tells a process that runs from a zombie, which in
 * a container without an init process stays for ever.
 */
final class ProcessTable {
    private static final Path PROC = Path.of("/proc");
    private static final String ENDED = "ZX";
    /** Places behind the name. */
    private static final int GROUP = 2;

    private static final int START = 19;

    private ProcessTable() {}

    /** The process groups in which anything runs, by one look at every process; empty if that cannot be told. */
    static Optional<Set<Long>> groups() {
        if (!Files.exists(PROC.resolve("self/stat"))) {
            return Optional.empty();
        }
        Set<Long> groups = new HashSet<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path process : processes) {
                group(process).ifPresent(groups::add);
            }
            return Optional.of(groups);
        } catch (IOException | DirectoryIteratorException e) {
            return Optional.empty();
        }
    }

    private static OptionalLong group(Path process) {
        return read(process).map(Entry::group).map(OptionalLong::of).orElseGet(OptionalLong::empty);
    }

    /**
     * A process that runs.
     *
     * @param pid its number
     * @param group the number of its group
     * @param start when it was started, in a unit of the kernel's; another process with the same number has another start
     */
    record Entry(long pid, long group, long start) {
        /** Whether it is the first of its group. */
        boolean leads() {
            return group == pid;
        }

        /** Whether this is the process of another entry, whatever the groups. */
        boolean isSameAs(Entry other) {
            return pid == other.pid && start == other.start;
        }

        /** The same as soon as it leads a group. */
        Entry leading() {
            return new Entry(pid, pid, start);
        }
    }

    /** What is known of the process of this number; empty if there is none that runs, or it cannot be told. */
    static Optional<Entry> entry(long pid) {
        return read(PROC.resolve(String.valueOf(pid)));
    }

    /** What is known of this process. */
    static Optional<Entry> self() {
        return read(PROC.resolve("self"));
    }

    /** Names the boot of this machine and the space of process numbers that we see; empty if that cannot be told. */
    static Optional<String> machine() {
        try {
            String boot =
                    Files.readString(PROC.resolve("sys/kernel/random/boot_id")).strip();
            return Optional.of(boot + " " + Files.readSymbolicLink(PROC.resolve("self/ns/pid")));
        } catch (IOException | UnsupportedOperationException e) {
            return Optional.empty();
        }
    }

    /** The file reads {@code pid (name) state parent group ...}, with the start as field 22; the name may hold anything. */
    private static Optional<Entry> read(Path process) {
        try {
            String stat = new String(Files.readAllBytes(process.resolve("stat")), StandardCharsets.ISO_8859_1);
            String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", START + 2);
            if (ENDED.contains(fields[0])) {
                return Optional.empty();
            }
            long pid = Long.parseLong(stat.substring(0, stat.indexOf(' ')));
            return Optional.of(new Entry(pid, Long.parseLong(fields[GROUP]), Long.parseLong(fields[START])));
        } catch (IOException e) {
            // It has ended while we looked.
            return Optional.empty();
        }
    }
}
