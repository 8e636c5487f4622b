package dev.holdfast.gateway.process;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.holdfast.LogThrottle;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts and ends processes, and keeps those that run in a file, for the gateway after this one: a child that does not mind the end of its
 * input outlives a kill -9, and nobody else knows whose it was.
 *
 * <p>The first line names the machine's boot and the space of its process numbers; in another one, the file says nothing. The second,
 * {@code @<pid> <start>}, names the gateway, the start as the kernel tells it: while that one runs, the folder is a copy, and its children
 * are left alone. Then come {@code +<pid> <start>} and {@code -<pid> <start>} for children that began and ended. A line without a line end
 * counts for nothing. The file is written anew when most of it is past, so it has some 1,000 lines more than children at most. It is not
 * forced to the disk: after the end of the machine it is of no use.
 *
 * <p>Where there is no {@code /proc}, or it does not tell the boot or that space, there is no file. Thread-safe.
 */
public final class ChildRegister implements Processes {
    static final String FILE = "CHILDREN";

    private static final Logger log = LoggerFactory.getLogger(ChildRegister.class);
    private static final Pattern LINE = Pattern.compile("([@+-])(\\d{1,10}) (\\d{1,18})");
    private static final int MOST_PAST = 1_000;
    /** The first two lines have fewer. */
    private static final int HEAD_BYTES = 1_024;

    private static final long MOST_BYTES = 8 << 20;
    /** How long an end may take after the time for TERM, with what it takes to look at processes. */
    private static final Duration KILL_TIME = ChildEnds.KILL_GRACE.multipliedBy(2);

    private static final int MOST_NAMED = 20;

    private final Path file;
    private final Processes processes;
    private final Optional<String> machine;
    private final Optional<ProcessTable.Entry> self;
    private final LogThrottle complaints = new LogThrottle(1, System::nanoTime);
    /** By process and not by number, which a newer child may have before the end of an older one is noticed. */
    private final Map<Process, ProcessTable.Entry> running = new LinkedHashMap<>();

    private final List<Survivor> survivors;
    private int lines;
    /** Whether a write has failed: the next line must not come after half a line. */
    private boolean torn;

    /**
     * Goes on with the file of a folder.
     *
     * @param machine what the first line has to be; if empty, nothing is read or written
     * @param self this process, the gateway of the children to come; its group is never a survivor's
     */
    ChildRegister(Path folder, Processes processes, Optional<String> machine, Optional<ProcessTable.Entry> self) {
        this.file = folder.resolve(FILE);
        this.processes = processes;
        this.machine = machine;
        this.self = self;
        this.survivors = machine.map(this::read).map(this::survivors).orElseGet(List::of);
        survivors.forEach(survivor -> running.put(survivor, survivor.entry));
        try {
            rewrite();
        } catch (IOException e) {
            failed(e);
        }
    }

    /** Goes on with the file of a folder of this process's own. */
    ChildRegister(Path folder, Processes processes) {
        this(folder, processes, ProcessTable.machine(), ProcessTable.self());
    }

    /**
     * Ends the children that an earlier gateway has left in this folder, by TERM and then by KILL, and keeps those to come there. Returns
     * when nothing of the earlier ones is left, ten seconds after the time for TERM at most; then it logs which of them still run.
     *
     * @param folder belongs to this process alone
     * @param clock tells the time; stays the caller's to shut down
     * @param termGrace how long they may take to end after TERM
     */
    public static Processes open(Path folder, Processes processes, ScheduledExecutorService clock, Duration termGrace) {
        ChildRegister register = new ChildRegister(folder, processes);
        if (!register.survivors.isEmpty()) {
            register.endSurvivors(clock, termGrace);
        }
        return register;
    }

    private void endSurvivors(ScheduledExecutorService clock, Duration termGrace) {
        log.warn(
                "server processes of an earlier gateway on this folder still run, and are ended: {}",
                numbers(survivors));
        try (Workers workers = new Workers(clock, this)) {
            List<CompletableFuture<Void>> ends = survivors.stream()
                    .map(survivor -> workers.ends().begin(survivor, survivor, Duration.ZERO, termGrace))
                    .map(CompletionStage::toCompletableFuture)
                    .toList();
            CompletableFuture.allOf(ends.toArray(CompletableFuture<?>[]::new))
                    .completeOnTimeout(null, termGrace.plus(KILL_TIME).toNanos(), TimeUnit.NANOSECONDS)
                    .join();
        }
        Set<Process> left = running(List.copyOf(survivors));
        if (!left.isEmpty()) {
            log.warn("server processes of an earlier gateway could not be ended, and run on: {}", numbers(left));
        }
    }

    private static String numbers(Collection<? extends Process> processes) {
        String some = processes.stream()
                .map(Process::pid)
                .sorted()
                .limit(MOST_NAMED)
                .map(String::valueOf)
                .collect(Collectors.joining(", "));
        return processes.size() > MOST_NAMED ? some + " and " + (processes.size() - MOST_NAMED) + " more" : some;
    }

    @Override
    public Process start(ServerCommand command) throws IOException {
        Process child = processes.start(command);
        started(child);
        return child;
    }

    @Override
    public void signal(Collection<Process> children, Signal signal) {
        processes.signal(children, signal);
    }

    @Override
    public Set<Process> running(Collection<Process> children) {
        Set<Process> running = processes.running(children);
        children.stream().filter(child -> !running.contains(child)).forEach(this::gone);
        return running;
    }

    /** The children that still run; one whose number another process has now does not. */
    private List<Survivor> survivors(Left left) {
        List<Survivor> alive = left.children().values().stream()
                .map(Survivor::new)
                .filter(Survivor::isAlive)
                .toList();
        Optional<ProcessTable.Entry> gateway = left.gateway().filter(this::isAnotherThatRuns);
        if (gateway.isEmpty()) {
            return alive.stream().filter(this::isOfAnotherGroup).toList();
        }
        if (!alive.isEmpty()) {
            log.warn(
                    "the gateway that wrote {}, process {}, still runs, so the folder is a copy;"
                            + " its server processes ({}) are left alone",
                    file,
                    gateway.get().pid(),
                    alive.size());
        }
        return List.of();
    }

    private boolean isAnotherThatRuns(ProcessTable.Entry gateway) {
        boolean runs =
                ProcessTable.entry(gateway.pid()).filter(gateway::isSameAs).isPresent();
        return runs && self.filter(gateway::isSameAs).isEmpty();
    }

    private boolean isOfAnotherGroup(Survivor survivor) {
        boolean own = self.filter(entry -> entry.group() == survivor.pid()).isPresent();
        if (own) {
            log.warn("{} of an earlier gateway has started this one in its own group, and is left alone", survivor);
        }
        return !own;
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

    /**
     * What the file says.
     *
     * @param gateway who wrote it, if it tells that
     * @param children those that it leaves running, by their numbers
     */
    private record Left(Optional<ProcessTable.Entry> gateway, Map<Long, ProcessTable.Entry> children) {
        static final Left NOTHING = new Left(Optional.empty(), Map.of());
    }

    private Left read(String here) {
        String text;
        try {
            if (!Files.exists(file) || Files.size(file) > MOST_BYTES) {
                return Left.NOTHING;
            }
            text = Files.readString(file, US_ASCII);
        } catch (IOException e) {
            log.warn("{} cannot be read, server processes of an earlier gateway may still run: {}", file, e.toString());
            return Left.NOTHING;
        }
        List<String> all = text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
        return !all.isEmpty() && all.get(0).equals(here) ? read(all) : Left.NOTHING;
    }

    private static Left read(List<String> lines) {
        Optional<ProcessTable.Entry> gateway = Optional.empty();
        Map<Long, ProcessTable.Entry> children = new LinkedHashMap<>();
        for (String line : lines) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.matches()) {
                long pid = Long.parseLong(matcher.group(2));
                ProcessTable.Entry entry = new ProcessTable.Entry(pid, pid, Long.parseLong(matcher.group(3)));
                switch (matcher.group(1)) {
                    case "@" -> gateway = Optional.of(entry);
                    case "+" -> children.put(pid, entry);
                    default -> children.remove(pid, entry);
                }
            }
        }
        return new Left(gateway, children);
    }

    private void append(char sign, ProcessTable.Entry entry) {
        try {
            refuseAnothers();
            if (torn || lines > running.size() + MOST_PAST) {
                rewrite();
            } else {
                Files.writeString(
                        file, line(sign, entry), US_ASCII, StandardOpenOption.APPEND, LinkOption.NOFOLLOW_LINKS);
                lines++;
            }
        } catch (IOException e) {
            failed(e);
        }
    }

    /** Where this folder was removed and made anew, the file may be that of another gateway, which would end our children later. */
    private void refuseAnothers() throws IOException {
        if (writer().filter(this::isAnotherThatRuns).isPresent()) {
            throw new IOException("it is that of another gateway");
        }
    }

    /** The gateway whose file it is, if it tells that. */
    private Optional<ProcessTable.Entry> writer() throws IOException {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try (InputStream in = Files.newInputStream(file)) {
            List<String> head = new String(in.readNBytes(HEAD_BYTES), US_ASCII)
                    .lines()
                    .limit(2)
                    .toList();
            boolean here =
                    !head.isEmpty() && machine.filter(head.get(0)::equals).isPresent();
            return here ? read(head).gateway() : Optional.empty();
        }
    }

    private void rewrite() throws IOException {
        if (machine.isEmpty()) {
            return;
        }
        Path fresh = file.resolveSibling(FILE + ".new");
        StringBuilder text = new StringBuilder(head());
        running.values().forEach(entry -> text.append(line('+', entry)));
        Files.writeString(
                fresh,
                text,
                US_ASCII,
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS);
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        lines = running.size();
        torn = false;
    }

    private String head() {
        return machine.orElse("") + "\n" + self.map(entry -> line('@', entry)).orElse("");
    }

    private static String line(char sign, ProcessTable.Entry entry) {
        return sign + "" + entry.pid() + " " + entry.start() + "\n";
    }

    private void failed(IOException e) {
        torn = true;
        complaints.write(more -> log.warn(
                "{} cannot be written, so a kill -9 may leave server processes: {}{}", file, e.toString(), more));
    }

    /** A process that an earlier gateway has started, of which only the number and the start are known. */
    static final class Survivor extends Process {
        private final ProcessTable.Entry entry;

        Survivor(ProcessTable.Entry entry) {
            this.entry = entry;
        }

        @Override
        public long pid() {
            return entry.pid();
        }

        /** Whether the number still is that of the same process. */
        @Override
        public boolean isAlive() {
            return ProcessTable.entry(entry.pid()).filter(entry::equals).isPresent();
        }

        @Override
        public OutputStream getOutputStream() {
            return OutputStream.nullOutputStream();
        }

        @Override
        public InputStream getInputStream() {
            return InputStream.nullInputStream();
        }

        @Override
        public InputStream getErrorStream() {
            return InputStream.nullInputStream();
        }

        @Override
        public int waitFor() {
            throw new UnsupportedOperationException("only its parent can wait for " + this);
        }

        @Override
        public int exitValue() {
            throw new IllegalThreadStateException("only its parent has the exit code of " + this);
        }

        /** Its group is signalled, and never the number alone. */
        @Override
        public void destroy() {}

        @Override
        public String toString() {
            return "process " + entry.pid();
        }
    }
}
