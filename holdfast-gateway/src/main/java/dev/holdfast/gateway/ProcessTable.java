package dev.holdfast.gateway;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.StringTokenizer;

/**
 * The processes of the machine, where {@code /proc} shows them. {@code kill} cannot tell a process that runs from one that has
 * ended and whose parent has not asked for its exit code, and in a container without an init process nobody ever asks.
 */
final class ProcessTable {
    private static final Path PROC = Path.of("/proc");
    private static final String ENDED = "ZX";

    private ProcessTable() {}

    /** False if it is certain that nothing in a process group runs. */
    static boolean mayRun(long group) {
        if (!Files.exists(PROC.resolve("self/stat"))) {
            return true;
        }
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path process : processes) {
                if (runs(process, group)) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            return true;
        }
    }

    /** The file reads {@code pid (name) state parent group ...}; the name may hold anything. */
    private static boolean runs(Path process, long group) {
        try {
            String stat = new String(Files.readAllBytes(process.resolve("stat")), StandardCharsets.ISO_8859_1);
            StringTokenizer fields = new StringTokenizer(stat.substring(stat.lastIndexOf(')') + 1));
            String state = fields.nextToken();
            fields.nextToken();
            return Long.parseLong(fields.nextToken()) == group && !ENDED.contains(state);
        } catch (IOException e) {
            // It has ended while we looked.
            return false;
        }
    }
}
