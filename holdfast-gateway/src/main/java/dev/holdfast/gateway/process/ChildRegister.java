package dev.holdfast.gateway.process;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.LogThrottle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The children that run, in a file, for the gateway after this one: a child that does not mind the end of its input outlives a
 * kill -9, and nobody else knows whose it was.
 *
 * <p>The first line names the machine's boot and the space of its process numbers; in another one, the file says nothing. Then
 * come {@code +<pid> <start>} and {@code -<pid> <start>}, the start as the kernel tells it. A line that is cut short has no line
 * end, and counts for nothing. The file is written anew when most of it is past, so it has some 1,000 lines more than children at
 * most. It is not forced to the disk: after the end of the machine it is of no use.
 *
 * <p>Where there is no {@code /proc}, or it does not tell the boot or that space, it does nothing. Thread-safe.
 */
final class ChildRegister {
    static final String FILE = "CHILDREN";

    private static final Logger log = LoggerFactory.getLogger(ChildRegister.class);
    private static final Pattern LINE = Pattern.compile("([+-])(\\d{1,10}) (\\d{1,18})");
    private static final int MOST_PAST = 1_000;
    private static final long MOST_BYTES = 8 << 20;

    private final Path file;
    private final Optional<String> machine;
    private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);
    /** By process and not by number, which a newer child may have before the end of an older one is noticed. */
    private final Map<Process, ProcessTable.Entry> running = new LinkedHashMap<>();

    private final List<Survivor> survivors;
    private int lines;
    /** Whether a write has failed: what comes next must not stand behind half a line. */
    private boolean torn;

    private ChildRegister(Path file, Optional<String> machine, Optional<ProcessTable.Entry> self) {
        this.file = file;
        this.machine = machine;
        Map<Long, ProcessTable.Entry> left = machine.map(this::read).orElseGet(Map::of);
        // what has ended, or has a number that somebody else has now, is forgotten
        this.survivors = left.values().stream()
                .map(Survivor::new)
                .filter(Survivor::isAlive)
                .filter(survivor -> isOfAnotherGroup(survivor, self))
                .toList();
        survivors.forEach(survivor -> running.put(survivor, survivor.entry()));
        rewrite();
    }

    private static boolean isOfAnotherGroup(Survivor survivor, Optional<ProcessTable.Entry> self) {
        boolean own = self.filter(entry -> entry.group() == survivor.pid()).isPresent();
        if (own) {
            log.warn("{} of an earlier gateway has started this one in its own group, and is left alone", survivor);
        }
        return !own;
    }

    /** Reads the file in a folder of this process's own, and goes on with it. */
    static ChildRegister open(Path folder) {
        return open(folder, ProcessTable.machine(), ProcessTable.self());
    }

    /**
     * Goes on with the file of a folder.
     *
     * @param machine what the first line has to be; if empty, nothing is read or written
     * @param self this process, whose group is never a survivor's
     */
    static ChildRegister open(Path folder, Optional<String> machine, Optional<ProcessTable.Entry> self) {
        return new ChildRegister(folder.resolve(FILE), machine, self);
    }

    /** The children of an earlier process that ran when the file was read: the same number, the same start, a group of its own. */
    List<Survivor> survivors() {
        return survivors;
    }

    /** Notes a child that will lead a group of its own. */
    void started(Process child) {
        if (machine.isPresent()) {
            ProcessTable.entry(child.pid()).ifPresent(entry -> started(child, entry.leading()));
        }
    }

    /** Notes a child, and by what a later gateway finds it. */
    synchronized void started(Process child, ProcessTable.Entry entry) {
        running.put(child, entry);
        append('+', entry);
    }

    /** Nothing of a child is left. */
    synchronized void gone(Process child) {
        ProcessTable.Entry entry = running.remove(child);
        if (entry != null) {
            append('-', entry);
        }
    }

    /** Returns by their numbers the children that the file leaves running. */
    private Map<Long, ProcessTable.Entry> read(String here) {
        String text;
        try {
            if (!Files.exists(file) || Files.size(file) > MOST_BYTES) {
                return Map.of();
            }
            text = Files.readString(file, US_ASCII);
        } catch (IOException e) {
            log.warn("{} cannot be read, server processes of an earlier gateway may still run: {}", file, e.toString());
            return Map.of();
        }
        Map<Long, ProcessTable.Entry> left = new LinkedHashMap<>();
        List<String> all = text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
        if (!all.isEmpty() && all.get(0).equals(here)) {
            all.forEach(line -> readLine(line, left));
        }
        return left;
    }

    private static void readLine(String line, Map<Long, ProcessTable.Entry> left) {
        Matcher matcher = LINE.matcher(line);
        if (!matcher.matches()) {
            return;
        }
        long pid = Long.parseLong(matcher.group(2));
        ProcessTable.Entry entry = new ProcessTable.Entry(pid, pid, Long.parseLong(matcher.group(3)));
        if (matcher.group(1).equals("+")) {
            left.put(pid, entry);
        } else {
            left.remove(pid, entry);
        }
    }

    private void append(char sign, ProcessTable.Entry entry) {
        if (torn || lines > running.size() + MOST_PAST) {
            rewrite();
            return;
        }
        try {
            Files.writeString(file, line(sign, entry), US_ASCII, StandardOpenOption.APPEND);
            lines++;
        } catch (IOException e) {
            failed(e);
        }
    }

    private void rewrite() {
        if (machine.isEmpty()) {
            return;
        }
        Path fresh = file.resolveSibling(FILE + ".new");
        StringBuilder text = new StringBuilder(machine.get()).append('\n');
        running.values().forEach(entry -> text.append(line('+', entry)));
        try {
            Files.writeString(fresh, text, US_ASCII);
            Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            lines = running.size();
            torn = false;
        } catch (IOException e) {
            failed(e);
        }
    }

    private static String line(char sign, ProcessTable.Entry entry) {
        return sign + "" + entry.pid() + " " + entry.start() + "\n";
    }

    private void failed(IOException e) {
        torn = true;
        complaints.write(more -> log.warn(
                "{} cannot be written, so a kill -9 may leave server processes: {}{}", file, e.toString(), more));
    }
}
