package dev.holdfast.gateway.process;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Children that each lead a process group, made by {@code setsid}; the number of the group is that of the child. */
final class ProcessGroups implements Processes {
    private final Path setsid;

    ProcessGroups(Path setsid) {
        this.setsid = setsid;
    }

    /** A Java child never leads a group, so {@code setsid} does not fork: the child's pid is the group's number. */
    @Override
    public Process start(List<String> words) throws IOException {
        List<String> all = new ArrayList<>(words.size() + 1);
        all.add(setsid.toString());
        all.addAll(words);
        return new ProcessBuilder(all).start();
    }

    @Override
    public void signal(Collection<Process> children, Signal signal) {
        Shell.signal(groups(children), signal.name());
        if (signal == Signal.KILL) {
            children.forEach(Process::destroyForcibly);
        }
    }

    @Override
    public Set<Process> running(Collection<Process> children) {
        Optional<Set<Long>> groups = ProcessTable.groups();
        // Where the table tells of a child that it has ended, nobody waits until the JDK has asked for the exit code:
        // the kernel
        // takes the longer for that the more files this process has open.
        Set<Long> running = groups.orElseGet(() -> Shell.existing(groups(children)));
        Predicate<Process> runs = child -> running.contains(child.pid()) || (groups.isEmpty() && child.isAlive());
        return children.stream().filter(runs).collect(Collectors.toSet());
    }

    private static List<Long> groups(Collection<Process> children) {
        return children.stream().map(Process::pid).toList();
    }
}
