package dev.holdfast.gateway.process;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Processes whose children are in a {@link ChildRegister} for as long as they run. */
public final class RememberedProcesses implements Processes {
    private static final Logger log = LoggerFactory.getLogger(RememberedProcesses.class);
    /** How long their end may take after the time for TERM: {@link ChildEnds.End} gives up five seconds after KILL. */
    private static final Duration KILL_PATIENCE = Duration.ofSeconds(10);

    private static final int MOST_NAMED = 20;

    private final Processes processes;
    private final ChildRegister register;

    private RememberedProcesses(Processes processes, ChildRegister register) {
        this.processes = processes;
        this.register = register;
    }

    /**
     * Ends the children that an earlier gateway has left in this folder's register, by TERM and then by KILL; what is started from
     * then on is in the register. Returns when nothing of them is left, ten seconds after the time for TERM at most; then it says
     * which of them still run.
     *
     * @param folder belongs to this process alone
     * @param clock tells the time; stays the caller's to shut down
     * @param termGrace how long they may take to end after TERM
     */
    public static Processes in(Path folder, Processes processes, ScheduledExecutorService clock, Duration termGrace) {
        RememberedProcesses remembered = new RememberedProcesses(processes, ChildRegister.open(folder));
        List<ChildRegister.Survivor> survivors = remembered.register.survivors();
        if (!survivors.isEmpty()) {
            remembered.end(survivors, clock, termGrace);
        }
        return remembered;
    }

    private void end(List<ChildRegister.Survivor> survivors, ScheduledExecutorService clock, Duration termGrace) {
        log.warn(
                "server processes of an earlier gateway on this folder still run, and are ended: {}",
                numbers(survivors));
        try (Workers workers = new Workers(clock, this)) {
            List<CompletableFuture<Void>> ends = survivors.stream()
                    .map(survivor -> {
                        CompletableFuture<Void> gone = new CompletableFuture<>();
                        workers.ends().begin(new ChildEnds.End(survivor, survivor, Duration.ZERO, termGrace, gone));
                        return gone;
                    })
                    .toList();
            CompletableFuture.allOf(ends.toArray(CompletableFuture<?>[]::new))
                    .completeOnTimeout(null, termGrace.plus(KILL_PATIENCE).toNanos(), TimeUnit.NANOSECONDS)
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
    public Process start(List<String> words) throws IOException {
        Process child = processes.start(words);
        register.started(child);
        return child;
    }

    @Override
    public void signal(Collection<Process> children, Signal signal) {
        processes.signal(children, signal);
    }

    @Override
    public Set<Process> running(Collection<Process> children) {
        Set<Process> running = processes.running(children);
        children.stream().filter(child -> !running.contains(child)).forEach(register::gone);
        return running;
    }
}
