package dev.holdfast.gateway.process;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Children and their descendants, for systems without {@code setsid}. Weaker than process groups: a descendant whose own parent
 * ended before we looked is not found.
 */
public final class ProcessTrees implements Processes {
    /** For each child that is about to end, every process of its tree that was seen. */
    private final Map<Process, Set<ProcessHandle>> seen = new HashMap<>();

    @Override
    public Process start(ServerCommand command) throws IOException {
        return command.process(List.of()).start();
    }

    @Override
    public synchronized void signal(Collection<Process> children, Signal signal) {
        look(children);
        for (Process child : children) {
            for (ProcessHandle process : seen.getOrDefault(child, Set.of())) {
                switch (signal) {
                    case TERM -> process.destroy();
                    case KILL -> process.destroyForcibly();
                }
            }
        }
    }

    @Override
    public synchronized Set<Process> running(Collection<Process> children) {
        look(children);
        Set<Process> running = children.stream()
                .filter(child -> seen.getOrDefault(child, Set.of()).stream().anyMatch(ProcessHandle::isAlive))
                .collect(Collectors.toSet());
        children.stream().filter(child -> !running.contains(child)).forEach(seen::remove);
        return running;
    }

    private void look(Collection<Process> children) {
        Map<ProcessHandle, List<ProcessHandle>> families = ProcessHandle.allProcesses()
                .filter(process -> process.parent().isPresent())
                .collect(Collectors.groupingBy(process -> process.parent().orElse(process)));
        for (Process child : children) {
            Set<ProcessHandle> tree = seen.computeIfAbsent(child, first -> new HashSet<>(Set.of(first.toHandle())));
            Deque<ProcessHandle> parents = new ArrayDeque<>(tree);
            while (!parents.isEmpty()) {
                for (ProcessHandle process : families.getOrDefault(parents.remove(), List.of())) {
                    if (tree.add(process)) {
                        parents.add(process);
                    }
                }
            }
        }
    }
}
