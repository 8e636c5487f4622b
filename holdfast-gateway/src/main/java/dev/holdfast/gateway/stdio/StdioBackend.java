package dev.holdfast.gateway.stdio;

import dev.holdfast.ByteBudget;
import dev.holdfast.LogThrottle;
import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.process.Processes;
import dev.holdfast.gateway.process.Processes.Signal;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.StdioOptions;
import dev.holdfast.gateway.process.Workers;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.io.IOException;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An MCP server on stdio behind every session: each has a child process of its own, which speaks JSON-RPC in lines on its
 * standard input and output.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio">MCP transports, stdio</a>
 */
public final class StdioBackend implements Backend, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(StdioBackend.class);
    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();
    private static final long CLOSE_SECONDS = 15;
    private static final String CLOSING = "the gateway is shutting down";

    private final String server;
    private final StdioOptions options;
    private final Processes processes;
    private final int mostChildren;
    private final Workers workers;
    private final int mostOpenings;
    private final ByteBudget budget;
    /** For lines about children that did not start, which any client can cause. */
    private final LogThrottle lines = new LogThrottle(Child.LOG_LINES, System::nanoTime);

    private final Set<Opening> openings = ConcurrentHashMap.newKeySet();
    /** Those whose turn has not come, in their order. */
    private final Set<Opening> waiting = new LinkedHashSet<>();
    /** How many have their turn. */
    private int turns;

    private final Set<Child> children = ConcurrentHashMap.newKeySet();

    private final LongAdder started = new LongAdder();
    private final LongAdder unstarted = new LongAdder();
    private final LongAdder died = new LongAdder();
    private final LongAdder leftBehind = new LongAdder();
    private volatile ServerCommand command;
    private volatile boolean closed;

    /**
     * A backend that runs a command.
     *
     * @param server its name in the log, empty where it is the only one
     * @param mostChildren how many children there may be at once, those included whose sessions have ended already; the engine holds
     *     to it
     * @param clock tells the time; stays the caller's to shut down
     * @param budget counts its messages, and others
     */
    public StdioBackend(
            String server,
            ServerCommand command,
            StdioOptions options,
            Processes processes,
            int mostChildren,
            ScheduledExecutorService clock,
            ByteBudget budget) {
        this(server, command, options, processes, mostChildren, clock, mostOpenings(), budget);
    }

    /** The same, with so many openings at once. */
    StdioBackend(
            String server,
            ServerCommand command,
            StdioOptions options,
            Processes processes,
            int mostChildren,
            ScheduledExecutorService clock,
            int mostOpenings,
            ByteBudget budget) {
        this.server = server;
        this.mostChildren = mostChildren;
        this.mostOpenings = mostOpenings;
        this.budget = budget;
        this.command = command;
        this.options = options;
        this.processes = processes;
        this.workers = new Workers(clock, processes);
    }

    /** As many at once as the processors can serve: two for each, and four at least. */
    static int mostOpenings() {
        return Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
    }

    @Override
    public CompletionStage<Outcome> open(OpenRequest request, ListeningSink sink) {
        Opening opening = new Opening(request, sink);
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

    /** Starts another command from now on; the children that there are go on. */
    public void runs(ServerCommand next) {
        command = next;
    }

    /** What the messages of all children take. */
    public ByteBudget budget() {
        return budget;
    }

    /** Whether the turn of an opening comes now. If not, it waits without a thread; its turn comes on the thread that ends another one. */
    private synchronized boolean getsTurn(Opening opening) {
        boolean now = !closed && turns < mostOpenings;
        if (now) {
            turns++;
        } else {
            waiting.add(opening);
        }
        return now;
    }

    /**
     * Ends the turn of an opening, and gives it to the next one, or ends its wait for a turn.
     *
     * @return whether its turn had come
     */
    private boolean leave(Opening opening) {
        Opening next;
        synchronized (this) {
            if (waiting.remove(opening)) {
                return false;
            }
            Iterator<Opening> first = waiting.iterator();
            if (closed || !first.hasNext()) {
                turns--;
                return true;
            }
            next = first.next();
            first.remove();
        }
        next.turnCame();
        return true;
    }

    /** Starts a child that is ended with this backend at the latest. */
    private Child startChild(Child.Name name, ServerCommand run) throws IOException {
        Process process;
        try {
            process = processes.start(run);
        } catch (IOException e) {
            unstarted.increment();
            throw e;
        }
        started.increment();
        Child child = new Child(name, process, options, budget, workers, this::forget, leftBehind::increment);
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

    /** How many children there are, those included that are about to end. */
    public int size() {
        return children.size();
    }

    /** Children by their processes' numbers, no more than so many, each with the id of its session, empty before that has one. */
    public Map<Long, String> running(int most) {
        return children.stream()
                .limit(most)
                .collect(Collectors.toMap(
                        child -> child.process().pid(),
                        child -> child.name().session().get(),
                        (one, other) -> other,
                        TreeMap::new));
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
        synchronized (this) {
            closed = true;
        }
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

    /**
     * The opening of one connection: when its turn has come, starts a child and calls {@code initialize}, within the start timeout. It is
     * the sink of that call, for which there is no session yet.
     */
    final class Opening implements CallSink {
        private final OpenRequest request;
        private final ListeningSink listening;
        private final Child.Name name;
        private final CompletableFuture<End> end = new CompletableFuture<>();
        /** Completes when no process is started any more. */
        private final CompletableFuture<Void> begun = new CompletableFuture<>();

        private volatile @Nullable Child child;
        private volatile @Nullable StdioConnection connection;

        /** How it ended. */
        private sealed interface End {}

        /** The child has answered, with a result or an error. */
        private record Answered(OutboundMessage response) implements End {}

        /** There is no answer, for a reason that the log tells. */
        private record Failed(String cause) implements End {}

        /** The answer is not wanted any more. */
        private record Abandoned(String cause) implements End {}

        private Opening(OpenRequest request, ListeningSink listening) {
            this.request = request;
            this.listening = listening;
            String own = "child " + request.incarnation();
            this.name = new Child.Name(server.isEmpty() ? own : server + " " + own, listening::sessionId);
        }

        /** Starts the child as soon as its turn comes. */
        CompletionStage<Outcome> begin() {
            if (getsTurn(this)) {
                turnCame();
            }
            return end.thenCompose(how -> {
                if (!leave(this)) {
                    begun.complete(null);
                }
                return outcome(how);
            });
        }

        /** Starts the child, on a thread that may block, and lets the time run. */
        private void turnCame() {
            Duration timeout = options.startTimeout();
            Runnable late =
                    () -> fail("the server process did not answer initialize within " + Durations.text(timeout));
            Future<?> deadline = workers.later(late, timeout.toNanos(), TimeUnit.NANOSECONDS);
            end.whenComplete((how, failure) -> deadline.cancel(false));
            workers.starters().execute(() -> {
                try {
                    start();
                } finally {
                    begun.complete(null);
                }
            });
        }

        /** Whether the answer is still awaited. */
        boolean open() {
            return !end.isDone();
        }

        /** Ends the opening without an answer; false if it has ended already. */
        boolean fail(String cause) {
            return end.complete(new Failed(cause));
        }

        /** Gives up, if the child has not answered yet. */
        void abandon(String cause) {
            end.complete(new Abandoned(cause));
        }

        private boolean unanswered() {
            return end.isDone() && !(end.join() instanceof Answered);
        }

        private void start() {
            if (unanswered()) {
                return;
            }
            ServerCommand run = command;
            if (run.executable().isEmpty()) {
                unstarted.increment();
                String fault = run.fault();
                lines.write(more -> log.error("{}: the command {}: {}{}", name, fault, run.program(), more));
                fail("the server's command " + fault + (options.showErrors() ? ": " + run.program() : ""));
                return;
            }
            try {
                Child started = startChild(name, run);
                StdioConnection open = new StdioConnection(started, request.incarnation(), listening, this, ENVELOPES);
                child = started;
                connection = open;
                listening.onAnswer(open::answer);
                open.call(request.initialize(), this);
                started.listen(open);
                if (unanswered()) {
                    open.close();
                }
            } catch (Throwable e) {
                // whatever it was, somebody waits for the end of this
                lines.write(more -> log.error("{}: {} could not be started{}", name, run.program(), more, e));
                fail("the server process could not be started");
            }
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (EventKind.answers(message.kind())) {
                end.complete(new Answered(message));
            }
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void onCancel(CancelHook hook) {}

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return "";
        }

        private CompletionStage<Outcome> outcome(End how) {
            if (how instanceof Answered answered) {
                return answered(answered.response);
            }
            return how instanceof Failed failed ? failed(failed.cause) : unreachable(((Abandoned) how).cause);
        }

        private CompletionStage<Outcome> answered(OutboundMessage response) {
            if (response.kind() == EventKind.ERROR) {
                return closed(new Refused(response));
            }
            Optional<String> revision = ENVELOPES.read(response.bytes()) instanceof EnvelopeReader.Single single
                    ? single.message().protocolVersion()
                    : Optional.empty();
            if (revision.isEmpty()) {
                return failed("the server answered initialize without a protocolVersion");
            }
            return CompletableFuture.completedFuture(
                    new Opened(Objects.requireNonNull(connection), response, revision.get(), Optional.empty()));
        }

        private CompletionStage<Outcome> failed(String cause) {
            lines.write(
                    more -> log.warn("{}: a session could not be opened: {}{}", name, LogText.shortened(cause), more));
            return unreachable(cause);
        }

        private CompletionStage<Outcome> unreachable(String cause) {
            Child last = child;
            String errors = last == null || !options.showErrors() ? "" : last.lastErrors();
            String text = errors.isEmpty() ? cause : cause + "; its last error output was:\n" + errors;
            return closed(new Unreachable(
                    JsonRpc.MESSAGES.error(request.initialize().requiredId(), JsonRpc.SERVER_ERROR, text), cause));
        }

        /** An outcome that leaves nothing behind, once nothing is left. */
        private CompletionStage<Outcome> closed(Outcome outcome) {
            return begun.thenCompose(started -> {
                        StdioConnection open = connection;
                        return open == null ? begun : open.close();
                    })
                    .thenApply(gone -> outcome);
        }
    }
}
