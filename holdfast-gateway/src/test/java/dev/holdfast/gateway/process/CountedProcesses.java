package dev.holdfast.gateway.process;

import java.io.IOException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts how often it is asked. */
public class CountedProcesses implements Processes {
    private final Processes processes;
    private final AtomicInteger looks = new AtomicInteger();
    private final AtomicInteger signals = new AtomicInteger();

    public CountedProcesses(Processes processes) {
        this.processes = processes;
    }

    public int looks() {
        return looks.get();
    }

    public int signals() {
        return signals.get();
    }

    @Override
    public Process start(ServerCommand command) throws IOException {
        return processes.start(command);
    }

    @Override
    public void signal(Collection<Process> children, Signal signal) {
        signals.incrementAndGet();
        processes.signal(children, signal);
    }

    @Override
    public Set<Process> running(Collection<Process> children) {
        looks.incrementAndGet();
        return processes.running(children);
    }
}
