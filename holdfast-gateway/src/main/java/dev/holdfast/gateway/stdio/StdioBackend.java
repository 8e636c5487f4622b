package dev.holdfast.gateway.stdio;

import dev.holdfast.LogThrottle;
import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.process.ChildName;
import dev.holdfast.gateway.process.InputRoom;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.Processes.Signal;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.Workers;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.ListeningSink;
import java.io.IOException;
import java.util.List;
import java.util.Map;
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
    private final InputRoom room = InputRoom.ofHeap();
    /** For lines about children that did not start, which any client can cause. */
    private final LogThrottle lines = new LogThrottle(Child.LOG_LINES, System::nanoTime);

    private final Set<StdioOpening> openings = ConcurrentHashMap.newKeySet();
    /** The children, and when each is gone and forgotten. */
    private final Map<Child, CompletableFuture<Void>> children = new ConcurrentHashMap<>();

    private final LongAdder started = new LongAdder();
    private final LongAdder unstarted = new LongAdder();
    private final LongAdder died = new LongAdder();
    private volatile boolean closed;

    /**
     * A backend that runs a command.
     *
     * @param mostChildren how many children there may be at once, those included whose sessions have ended already
     * @param clock tells the time; stays the caller's to shut down
     */
    public StdioBackend(
            ServerCommand command,
            StdioOptions options,
            Processes processes,
            int mostChildren,
            ScheduledExecutorService clock) {
        this.mostChildren = mostChildren;
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

    /** Starts a child that is ended with this backend at the latest. */
    Child start(ChildName name) throws IOException {
        Child child = new Child(name, process(), options, room, workers);
        CompletableFuture<Void> forgotten = new CompletableFuture<>();
        children.put(child, forgotten);
        child.gone().thenRun(() -> {
            children.remove(child);
            if (child.died()) {
                died.increment();
            }
            forgotten.complete(null);
        });
        if (closed) {
            child.close();
        }
        return child;
    }

    private Process process() throws IOException {
        try {
            if (children.size() >= mostChildren) {
                throw new IOException("as many processes as there may be are still running");
            }
            Process process = processes.start(command.words());
            started.increment();
            return process;
        } catch (IOException e) {
            unstarted.increment();
            throw e;
        }
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

    /** How many children there are, those included that are about to end. */
    public int size() {
        return children.size();
    }

    /** How many children were started. */
    public long started() {
        return started.sum();
    }

    /** How many could not be started, or would have been one too many. */
    public long unstarted() {
        return unstarted.sum();
    }

    /** How many have ended before they were told to, or broke a rule. */
    public long died() {
        return died.sum();
    }

    /** Ends every child, and waits until nothing is left of them. */
    @Override
    public void close() {
        closed = true;
        openings.forEach(opening -> opening.abandon(CLOSING));
        Map<Child, CompletableFuture<Void>> last = Map.copyOf(children);
        last.keySet().forEach(Child::close);
        CompletableFuture.allOf(last.values().toArray(CompletableFuture<?>[]::new))
                .completeOnTimeout(null, CLOSE_SECONDS, TimeUnit.SECONDS)
                .join();
        List<Process> left = children.keySet().stream().map(Child::process).toList();
        if (!left.isEmpty()) {
            processes.signal(left, Signal.KILL);
        }
        workers.close();
    }
}
