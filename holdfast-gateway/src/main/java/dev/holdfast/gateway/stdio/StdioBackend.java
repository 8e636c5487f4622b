package dev.holdfast.gateway.stdio;

import dev.holdfast.ByteBudget;
import dev.holdfast.LogThrottle;
import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.Processes.Signal;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.Workers;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.ListeningSink;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * An MCP server on stdio behind every session: each has a child process of its own, which speaks JSON-RPC in lines on its
 * standard input and output.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio">MCP transports, stdio</a>
 */
public final class StdioBackend implements Backend, AutoCloseable {
    private static final long CLOSE_SECONDS = 15;
    private static final String CLOSING = "the gateway is shutting down";

    private final ServerCommand command;
    private final StdioOptions options;
    private final Processes processes;
    private final int mostChildren;
    private final Workers workers;
    private final OpeningGate openingGate;
    private final ByteBudget budget;
    /** For lines about children that did not start, which any client can cause. */
    private final LogThrottle lines = new LogThrottle(Child.LOG_LINES, System::nanoTime);

    private final Set<StdioOpening> openings = ConcurrentHashMap.newKeySet();
    private final Set<Child> children = ConcurrentHashMap.newKeySet();

    private final LongAdder started = new LongAdder();
    private final LongAdder unstarted = new LongAdder();
    private final LongAdder died = new LongAdder();
    private final LongAdder leftBehind = new LongAdder();
    private volatile boolean closed;

    /**
     * A backend that runs a command.
     *
     * @param mostChildren how many children there may be at once, those included whose sessions have ended already; the engine holds
     *     to it
     * @param clock tells the time; stays the caller's to shut down
     * @param budget what its messages take, and others
     */
    public StdioBackend(
            ServerCommand command,
            StdioOptions options,
            Processes processes,
            int mostChildren,
            ScheduledExecutorService clock,
            ByteBudget budget) {
        this(command, options, processes, mostChildren, clock, OpeningGate.ofMachine(), budget);
    }

    /** The same with a gate and a room of its own. */
    StdioBackend(
            ServerCommand command,
            StdioOptions options,
            Processes processes,
            int mostChildren,
            ScheduledExecutorService clock,
            OpeningGate openingGate,
            ByteBudget budget) {
        this.mostChildren = mostChildren;
        this.openingGate = openingGate;
        this.budget = budget;
        this.command = command;
        this.options = options;
        this.processes = processes;
        this.workers = new Workers(clock, processes);
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        StdioOpening opening = new StdioOpening(this, request, sink);
        openings.add(opening);
        CompletionStage<Outcome> outcome = opening.begin().whenComplete((end, failure) -> openings.remove(opening));
        sink.onAbandon(() -> opening.abandon("the client has left"));
        if (closed) {
            opening.abandon(CLOSING);
        }
        return outcome;
    }

    /** A child holds the state of its session, and two of them would not agree. */
    @Override
    public boolean existsOnce() {
        return true;
    }

    @Override
    public int mostConnections() {
        return mostChildren;
    }

    /** What the messages of all children take. */
    public ByteBudget budget() {
        return budget;
    }

    /** Starts a child that is ended with this backend at the latest. */
    Child start(Child.Name name) throws IOException {
        Child child = new Child(name, process(), options, budget, workers, this::forget, leftBehind::increment);
        children.add(child);
        if (closed) {
            child.close();
        }
        return child;
    }

    private void forget(Child child) {
        children.remove(child);
        if (child.died()) {
            died.increment();
        }
    }

    private Process process() throws IOException {
        try {
            Process process = processes.start(command.words());
            started.increment();
            return process;
        } catch (IOException e) {
            notStarted();
            throw e;
        }
    }

    /** A child that was wanted could not be started. */
    void notStarted() {
        unstarted.increment();
    }

    LogThrottle lines() {
        return lines;
    }

    ServerCommand command() {
        return command;
    }

    StdioOptions options() {
        return options;
    }

    Workers workers() {
        return workers;
    }

    OpeningGate openingGate() {
        return openingGate;
    }

    /** How many children there are, those included that are about to end. */
    public int size() {
        return children.size();
    }

    /** How many children were started. */
    public long started() {
        return started.sum();
    }

    /** How many could not be started. */
    public long unstarted() {
        return unstarted.sum();
    }

    /** How many have ended before they were told to, or broke a rule. */
    public long died() {
        return died.sum();
    }

    /** How many have left processes behind which had their pipes open. */
    public long leftBehind() {
        return leftBehind.sum();
    }

    /** Ends every child, and waits until nothing is left of them. */
    @Override
    public void close() {
        closed = true;
        openingGate.close();
        openings.forEach(opening -> opening.abandon(CLOSING));
        CompletableFuture.allOf(List.copyOf(children).stream()
                        .map(child -> child.close().toCompletableFuture())
                        .toArray(CompletableFuture<?>[]::new))
                .completeOnTimeout(null, CLOSE_SECONDS, TimeUnit.SECONDS)
                .join();
        List<Process> left = children.stream().map(Child::process).toList();
        if (!left.isEmpty()) {
            processes.signal(left, Signal.KILL);
        }
        workers.close();
    }
}
