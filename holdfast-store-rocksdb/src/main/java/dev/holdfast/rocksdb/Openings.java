package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * How often a folder was opened, and before which opening acknowledged appends may have been lost: the machine ended with the
 * store open, and the store did not wait for the disk.
 *
 * <p>Whether the machine has ended since is told by the id that the kernel draws at its start. Where there is none, every end
 * that was not in order counts.
 *
 * @param number of the present opening, from 1; 0 in a folder of a time when they were not counted
 * @param lostBefore the number of the opening before which something may have been lost, 0 if nothing was
 */
record Openings(Path file, int number, int lostBefore, boolean sync, String machine) {
    static final String FILE = "OPENINGS";
    private static final Path MACHINE = Path.of("/proc/sys/kernel/random/boot_id");
    private static final String OPEN = "open";

    /** Counts an opening, from here on until {@link #closed}. */
    static Openings next(Path folder, boolean sync, String machine) throws IOException {
        Path file = folder.resolve(FILE);
        Map<String, String> before = read(file);
        int number = number(before, "number") + 1;
        boolean lost = OPEN.equals(before.get("state"))
                && !Boolean.parseBoolean(before.get("sync"))
                && (machine.isEmpty() || !machine.equals(before.get("machine")));
        int lostBefore = lost ? number : number(before, "lost-before");
        Openings now = new Openings(file, number, lostBefore, sync, machine);
        now.write(OPEN);
        return now;
    }

    /** The id of the machine's present life; empty where it cannot be told. */
    static String thisMachine() {
        try {
            return Files.readString(MACHINE, UTF_8).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /** The store was closed in order. */
    void closed() throws IOException {
        write("closed");
    }

    private static Map<String, String> read(Path file) throws IOException {
        try {
            return Files.readAllLines(file, UTF_8).stream()
                    .map(line -> line.split(" ", 2))
                    .filter(parts -> parts.length == 2)
                    .collect(Collectors.toMap(
                            parts -> parts[0], parts -> parts[1], (one, other) -> other, TreeMap::new));
        } catch (NoSuchFileException e) {
            return Map.of();
        }
    }

    private static int number(Map<String, String> lines, String name) throws IOException {
        try {
            return Integer.parseInt(lines.getOrDefault(name, "0"));
        } catch (NumberFormatException e) {
            throw new IOException("the file " + FILE + " is damaged: " + name + " is no number", e);
        }
    }

    private void write(String state) throws IOException {
        Path draft = file.resolveSibling(FILE + ".new");
        List<String> lines = List.of(
                "number " + number,
                "lost-before " + lostBefore,
                "sync " + sync,
                "machine " + machine,
                "state " + state);
        Files.write(
                draft,
                lines,
                UTF_8,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE,
                StandardOpenOption.DSYNC);
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }
}
