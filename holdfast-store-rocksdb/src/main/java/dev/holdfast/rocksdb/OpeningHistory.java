package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How often a folder was opened, and before which opening acknowledged appends may have been lost: because the machine ended with
 * the store open, which did not wait for the disk, or because something in the folder is damaged.
 *
 * <p>The boot id of the kernel tells whether the machine has ended since. If there is none, every end that was not in order counts.
 *
 * @param number of the present opening, from 1; 0 in a folder of a time when they were not counted
 * @param lostBefore the number of the opening before which something may have been lost, 0 if nothing was
 * @param powerLost whether the machine has ended since the last opening, which did not wait for the disk
 * @param watermarked whether the folder had a {@link Watermark} before
 * @param damage what is damaged, empty if nothing is; kept until an opening that follows an end in order
 */
record OpeningHistory(
        Path file,
        int number,
        int lostBefore,
        boolean sync,
        String machine,
        boolean powerLost,
        boolean watermarked,
        String damage) {
    static final String FILE = "OPENINGS";
    private static final Path MACHINE = Path.of("/proc/sys/kernel/random/boot_id");
    private static final String OPEN = "open";

    /**
     * Counts an opening, from here on until {@link #closed}.
     *
     * @param watermark whether the folder has one
     */
    static OpeningHistory next(Path folder, boolean sync, String machine, boolean watermark) throws IOException {
        Path file = folder.resolve(FILE);
        Optional<Map<String, String>> known = read(file);
        Map<String, String> before = known.orElse(Map.of());
        // the file is written as a whole; it was not always there
        boolean whole = known.isPresent() ? isWhole(before) : !watermark;
        OpeningHistory now;
        if (whole) {
            int number = number(before, "number") + 1;
            boolean died = OPEN.equals(before.get("state"));
            boolean powerLost = died
                    && !Boolean.parseBoolean(before.get("sync"))
                    && (machine.isEmpty() || !machine.equals(before.get("machine")));
            int lostBefore = powerLost ? number : number(before, "lost-before");
            boolean watermarked = Boolean.parseBoolean(before.get("watermark"));
            String damage = died ? before.getOrDefault("damage", "") : "";
            now = new OpeningHistory(file, number, lostBefore, sync, machine, powerLost, watermarked, damage);
        } else {
            String what = "the file " + FILE + " is damaged or gone";
            now = new OpeningHistory(file, countless(), countless(), sync, machine, false, watermark, what);
        }
        now.write(OPEN);
        return now;
    }

    /** The id of the machine's present boot; empty if the system does not tell it. */
    static String thisMachine() {
        try {
            return Files.readString(MACHINE, UTF_8).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /** Something that was acknowledged may be lost: whatever was claimed up to now is in doubt. */
    OpeningHistory withDamage(String what) throws IOException {
        OpeningHistory now =
                new OpeningHistory(file, number + 1, number + 1, sync, machine, powerLost, watermarked, what);
        now.write(OPEN);
        return now;
    }

    /** The store was closed in order. */
    void closed() throws IOException {
        new OpeningHistory(file, number, lostBefore, sync, machine, powerLost, true, damage).write("closed");
    }

    /** A number greater than any that was counted, also by this way: a folder is not opened once a minute since 1970. */
    private static int countless() {
        return (int) TimeUnit.MILLISECONDS.toMinutes(System.currentTimeMillis());
    }

    private static boolean isWhole(Map<String, String> lines) {
        return lines.containsKey("state") && isNumber(lines.get("number")) && isNumber(lines.get("lost-before"));
    }

    private static boolean isNumber(@Nullable String text) {
        return text != null && text.matches("\\d{1,9}");
    }

    private static int number(Map<String, String> lines, String name) {
        return Integer.parseInt(lines.getOrDefault(name, "0"));
    }

    private static Optional<Map<String, String>> read(Path file) throws IOException {
        try {
            return Optional.of(new String(Files.readAllBytes(file), UTF_8)
                    .lines()
                    .map(line -> line.split(" ", 2))
                    .filter(parts -> parts.length == 2)
                    .collect(Collectors.toMap(
                            parts -> parts[0], parts -> parts[1], (one, other) -> other, TreeMap::new)));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private void write(String state) throws IOException {
        StoreFolder.replace(
                file,
                List.of(
                        "number " + number,
                        "lost-before " + lostBefore,
                        "sync " + sync,
                        "machine " + machine,
                        "watermark " + watermarked,
                        "damage " + damage,
                        "state " + state));
    }
}
