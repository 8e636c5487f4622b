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
import java.util.StringTokenizer;

/**
 * The processes of the machine, where {@code /proc} shows them. {@code kill} cannot tell a process that runs from one that has
 * ended and whose parent has not asked for its exit code, and in a container without an init process nobody ever asks.
 */
final class ProcessTable {
    private static final Path PROC = Path.of("/proc");
    private static final String ENDED = "ZX";

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

    /** The file reads {@code pid (name) state parent group ...}; the name may hold anything. */
    private static OptionalLong group(Path process) {
        try {
            String stat = new String(Files.readAllBytes(process.resolve("stat")), StandardCharsets.ISO_8859_1);
            StringTokenizer fields = new StringTokenizer(stat.substring(stat.lastIndexOf(')') + 1));
            String state = fields.nextToken();
            fields.nextToken();
            return ENDED.contains(state) ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(fields.nextToken()));
        } catch (IOException e) {
            // It has ended while we looked.
            return OptionalLong.empty();
        }
    }
}
