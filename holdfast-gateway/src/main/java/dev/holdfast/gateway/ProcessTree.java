package dev.holdfast.gateway;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A child and its descendants, for systems without {@code setsid}. Weaker than a process group: a descendant whose own parent
 * ended before we looked is not found.
 */
final class ProcessTree implements ProcessGroup {
    private final Set<ProcessHandle> seen = ConcurrentHashMap.newKeySet();

    ProcessTree(ProcessHandle root) {
        seen.add(root);
    }

    @Override
    public void signal(Signal signal) {
        look();
        for (ProcessHandle process : seen) {
            switch (signal) {
                case TERM -> process.destroy();
                case KILL -> process.destroyForcibly();
            }
        }
    }

    @Override
    public boolean alive() {
        look();
        return seen.stream().anyMatch(ProcessHandle::isAlive);
    }

    private void look() {
        for (ProcessHandle process : Set.copyOf(seen)) {
            process.descendants().forEach(seen::add);
        }
    }
}
