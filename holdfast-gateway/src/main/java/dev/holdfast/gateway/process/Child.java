package dev.holdfast.gateway.process;

import dev.holdfast.ByteBudget;
import dev.holdfast.LogThrottle;
import dev.holdfast.json.backend.LogText;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A child process that speaks in lines. It is dead when the process that was started has exited, <em>or</em> its output has
 * ended, or it broke a rule; then the whole process group is ended.
 */
public final class Child {
    /** Is told of a child's output and of its death, on one thread but where it says otherwise. */
    public interface Listener {
        /** Whether it wants to {@linkplain #awaitReady wait} before the next line. */
        boolean busy();

        /** Waits until it wants more of the output. */
        void awaitReady();

        /** A line of the child's output. */
        void received(byte[] line);

        /** The child is dead; called once, and not for a child that was {@linkplain Child#close closed}. */
        void died(String cause);

        /** Nobody wants more of the child's output, or waits for it. Called on any thread, perhaps twice, and after its death too. */
        void closed();
    }

    /**
     * A child as the log names it: by its own name, and by its session as soon as that has an id, in the form of all other lines.
     *
     * @param own different for any two children
     * @param session the session's id, empty while it has none
     */
    public record Name(String own, Supplier<String> session) {
        @Override
        public String toString() {
            String id = session.get();
            return id.isEmpty() ? own : own + " (session " + LogText.shortId(id) + ")";
        }
    }

    private enum Life {
        RUNNING,
        CLOSED,
        DEAD
    }

    private static final Logger log = LoggerFactory.getLogger(Child.class);
    /** How many lines one child may cause in ten seconds: enough for a stack trace or the greeting of a server. */
    public static final int LOG_LINES = 100;

    /** How long after the end of a child and its group others may keep its pipes open. */
    private static final long PIPES_MILLIS = 1_000;

    private static final int NAMED = 10;
    private static final Duration SETTLE = Duration.ofMillis(500);
    /** How long the exit of a child may take after the end of its output. One that does not exit is dead then as well. */
    private static final long EXIT_MILLIS = 2_000;

    private static final int SIGNALLED = 128;
    // The JDK has no selectable pipe to a process: each child needs a thread that blocks on its output, with a small
    // stack. Another one, the JDK's own, waits for the exit code.
    private static final long STACK_BYTES = 256 << 10;

    private final Child.Name name;
    private final Process process;
    private final ChildPipes pipes;
    private final Runnable leftBehind;
    private final StdioOptions options;
    private final Workers workers;
    private final LogThrottle lines;
    private final Input input;
    private final ReadingTime time = new ReadingTime(System::nanoTime);
    private final LineReader output;
    private final ChildErrors errors;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final CompletionStage<Void> gone;
    private final AtomicBoolean ending = new AtomicBoolean();
    private final AtomicReference<Life> life = new AtomicReference<>(Life.RUNNING);
    private final CompletableFuture<String> death = new CompletableFuture<>();
    private final AtomicBoolean exitSeen = new AtomicBoolean();
    private volatile boolean outputEnded;
    private volatile @Nullable Listener heard;

    /**
     * A child that nobody listens to yet.
     *
     * @param budget counts its large lines, and what waits for it
     * @param forget called when nothing is left of it, before {@link #gone} completes
     * @param leftBehind called when other processes still have its pipes open some time after its end
     */
    public Child(
            Child.Name name,
            Process process,
            StdioOptions options,
            ByteBudget budget,
            Workers workers,
            Consumer<Child> forget,
            Runnable leftBehind) {
        this.name = name;
        this.process = process;
        this.pipes = ChildPipes.of(process.pid());
        this.leftBehind = leftBehind;
        this.options = options;
        this.workers = workers;
        this.input = new Input(
                name, process.getOutputStream(), workers.blocking(), options.queuedBytes(), budget, this::inputBroke);
        this.output = new LineReader(
                process.getInputStream(),
                options.lineBytes(),
                budget,
                time,
                cause -> workers.blocking().execute(() -> death.complete("the server process " + cause)));
        this.lines = new LogThrottle(LOG_LINES, System::nanoTime);
        this.errors = new ChildErrors(name, process.getErrorStream(), lines);
        this.gone = ended.thenRun(() -> forget.accept(this));
        ended.thenRunAsync(
                this::closePipes,
                CompletableFuture.delayedExecutor(PIPES_MILLIS, TimeUnit.MILLISECONDS, workers.blocking()));
    }

    /** The child's name in the log. */
    public Child.Name name() {
        return name;
    }

    /** How much it may fill the log. */
    public LogThrottle lines() {
        return lines;
    }

    public Process process() {
        return process;
    }

    public StdioOptions options() {
        return options;
    }

    /** Starts to read; call it once. */
    public void listen(Listener listener) {
        heard = listener;
        if (life.get() == Life.CLOSED) {
            listener.closed();
        }
        log.debug("{}: started, process {}", name, process.pid());
        death.thenAccept(cause -> {
            if (life.compareAndSet(Life.RUNNING, Life.DEAD)) {
                try {
                    listener.died(cause);
                } finally {
                    input.close();
                    output.dropLarge();
                    end(Duration.ZERO);
                }
            }
        });
        Thread reader = new Thread(null, () -> read(listener), "holdfast-" + name.own(), STACK_BYTES);
        reader.setDaemon(true);
        reader.start();
        workers.watch(this);
        workers.inherited().forget(process);
    }

    /** Hands a line to the child; never blocks. */
    public void write(byte[] line) {
        input.write(line);
    }

    /** Ends a child that is of no use any more, as if it had died. */
    public void giveUp(String cause) {
        death.complete(cause);
    }

    /** The last lines of the error output; empty if there were none. */
    public String lastErrors() {
        return errors.last();
    }

    /**
     * Runs a task when its output was read for so long. Time in which a large line waits for room, or its listener is busy, does not
     * count.
     *
     * @return cancels it until that time has passed on the clock
     */
    public Future<?> afterReading(Duration delay, Runnable work) {
        return time.after(delay, work, workers.clock(), workers.blocking());
    }

    /** Whether it has died: it was not closed before. */
    public boolean died() {
        return life.get() == Life.DEAD;
    }

    /** Completes when nothing is left of the child and its group. */
    public CompletionStage<Void> gone() {
        return gone;
    }

    /** Ends the child and its group; completes when nothing is left of them. */
    public CompletionStage<Void> close() {
        life.compareAndSet(Life.RUNNING, Life.CLOSED);
        Listener listener = heard;
        if (listener != null) {
            listener.closed();
        }
        input.close();
        output.dropLarge();
        end(options.closeGrace());
        return gone;
    }

    private void read(Listener listener) {
        try {
            // when the process has ended, the JDK takes this lock, and then reads all that is in the pipe: for ever, if
            // others write
            synchronized (process.getInputStream()) {
                do {
                    if (listener.busy()) {
                        output.passedOn();
                        time.pauseDuring(listener::awaitReady);
                    }
                } while (passed(output.next(), listener));
            }
        } finally {
            output.dropLarge();
            outputEnded = true;
            settle();
        }
    }

    /**
     * Looks whether it has written to its error output, or has exited, without blocking; false when there is no more to look for. So its
     * exit is noticed even while a grandchild has its output open, and the reading thread waits for more.
     */
    boolean look() {
        if (errors.claim()) {
            workers.blocking().execute(errors::read);
        }
        if (process.isAlive()) {
            return true;
        }
        if (exitSeen.compareAndSet(false, true)) {
            workers.blocking().execute(errors::finish);
        }
        afterwards(() -> death.complete(cause()));
        return false;
    }

    /** Passes a line on; false after the last one. It is a method, so that no line stays in memory while the next one is awaited. */
    private boolean passed(LineReader.Next next, Listener listener) {
        if (next instanceof LineReader.Line line) {
            try {
                listener.received(line.bytes());
            } catch (RuntimeException e) {
                log.error("{}: a line could not be passed on", name, e);
            }
        } else if (next instanceof LineReader.TooLong tooLong) {
            log.warn("{}: a line that begins with {}", name, LogText.of(tooLong.start()));
            death.complete("the server process sent a line longer than " + options.lineBytes() + " bytes");
            return false;
        }
        return !(next instanceof LineReader.End);
    }

    private void inputBroke(String cause) {
        afterwards(() -> death.complete(process.isAlive() && !outputEnded ? cause : cause()));
    }

    /** The output has ended: waits for the exit, so that the cause is precise and the last errors are read. */
    private void settle() {
        try {
            if (process.waitFor(EXIT_MILLIS, TimeUnit.MILLISECONDS)) {
                readLastErrors();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            log.debug("{}: somebody else has its error output open", name);
        }
        death.complete(cause());
    }

    /** Waits until the rest of the error output was read, by this thread or another one. */
    private void readLastErrors() throws InterruptedException, ExecutionException, TimeoutException {
        boolean first = exitSeen.compareAndSet(false, true);
        if (first && life.get() != Life.RUNNING) {
            errors.finish();
            return;
        }
        if (first) {
            workers.blocking().execute(errors::finish);
        }
        errors.ended().get(SETTLE.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Runs a task when the output that is there was read, if the child has not died by then. */
    private void afterwards(Runnable work) {
        if (life.get() == Life.RUNNING) {
            Future<?> unused = afterReading(SETTLE, () -> {
                if (!death.isDone()) {
                    work.run();
                }
            });
        }
    }

    private String cause() {
        if (process.isAlive()) {
            return "the server process closed its output";
        }
        int code = process.exitValue();
        return code > SIGNALLED
                ? "the server process was ended by signal " + (code - SIGNALLED)
                : "the server process exited with code " + code;
    }

    /** Closes its pipes where other processes have them open still, so that they hold no thread and no file. */
    private void closePipes() {
        if (outputEnded && errors.ended().isDone() && input.ended()) {
            return;
        }
        // before the pipes are closed: a process that writes ends then
        Set<Long> holders = pipes.holders();
        output.close();
        errors.close();
        pipes.wake();
        if (!holders.isEmpty()) {
            leftBehind.run();
            log.warn(
                    "{}: has left processes behind that are not of its process group and had its pipes open: {}{}",
                    name,
                    holders.stream().limit(NAMED).map(String::valueOf).collect(Collectors.joining(", ")),
                    holders.size() > NAMED ? " and " + (holders.size() - NAMED) + " more" : "");
        }
    }

    private void end(Duration closeGrace) {
        if (ending.compareAndSet(false, true)) {
            workers.ends().begin(name, process, closeGrace, options.termGrace()).thenRun(() -> ended.complete(null));
        }
    }

    /**
     * The standard input of a child, as a queue of lines that never blocks who fills it. A thread of the executor drains it, and is held
     * only while there is something that the child does not take.
     */
    static final class Input {
        private static final long COST_OF_A_LINE = 64;

        private final Child.Name name;
        private final OutputStream pipe;
        private final Executor executor;
        private final long limit;
        private final ByteBudget budget;
        private final Consumer<String> broken;
        private final Queue<byte[]> lines = new ArrayDeque<>();
        private long queued;
        /** How many of these bytes the draining thread is writing. */
        private long writing;

        private boolean draining;
        private volatile boolean closed;
        private volatile boolean ended;

        /**
         * A queue in front of a pipe.
         *
         * @param limit bytes that may wait
         * @param budget counts what waits for this child and others
         * @param broken gets the cause, once, when the child cannot be written to any more
         */
        Input(
                Child.Name name,
                OutputStream pipe,
                Executor executor,
                long limit,
                ByteBudget budget,
                Consumer<String> broken) {
            this.name = name;
            this.pipe = pipe;
            this.executor = executor;
            this.limit = limit;
            this.budget = budget;
            this.broken = broken;
        }

        /** Adds a line, given without its end. */
        void write(byte[] line) {
            boolean fits;
            boolean start;
            synchronized (this) {
                if (closed) {
                    return;
                }
                long cost = line.length + COST_OF_A_LINE;
                fits = (queued == 0 || queued + cost <= limit) && budget.takeInput(cost, queued - writing);
                start = fits && !draining;
                if (fits) {
                    lines.add(line);
                    queued += cost;
                    draining = true;
                } else {
                    closeNow();
                }
            }
            if (start) {
                executor.execute(this::drain);
            } else if (!fits) {
                broken.accept("the server process does not read its input");
            }
        }

        /** Closes the input after what is queued. Does not block: where nothing is queued, there is nothing to flush. */
        void close() {
            boolean idle;
            synchronized (this) {
                idle = !closed && !draining;
                closed = true;
            }
            if (idle) {
                drain();
            }
        }

        private void drain() {
            try {
                byte[] line = next();
                while (line != null) {
                    pipe.write(line);
                    pipe.write('\n');
                    line = next();
                    if (line == null) {
                        pipe.flush();
                        line = nextOrNone();
                    }
                }
                if (closed) {
                    pipe.close();
                    ended = true;
                }
            } catch (IOException e) {
                giveUp("the server process closed its input");
            } catch (RuntimeException | Error e) {
                log.error("{}: could not be written to", name, e);
                giveUp("the server process could not be written to");
            }
        }

        /** Counts the previous line as written, and takes the next one; null if there is none. */
        private synchronized byte @Nullable [] next() {
            if (writing > 0) {
                release(writing);
            }
            byte[] line = lines.poll();
            writing = line == null ? 0 : line.length + COST_OF_A_LINE;
            return line;
        }

        /** Takes the line that came while the pipe was flushed; null ends the draining. */
        private synchronized byte @Nullable [] nextOrNone() {
            byte[] line = next();
            draining = line != null || closed;
            return line;
        }

        /** Whether nobody will write to the pipe any more. */
        boolean ended() {
            return ended;
        }

        private void giveUp(String cause) {
            ended = true;
            boolean first;
            synchronized (this) {
                first = !closed;
                closeNow();
                release(writing);
                writing = 0;
            }
            if (first) {
                broken.accept(cause);
            }
        }

        private void closeNow() {
            closed = true;
            release(queued - writing);
            lines.clear();
        }

        private void release(long bytes) {
            queued -= bytes;
            budget.giveInput(bytes);
        }
    }
}
