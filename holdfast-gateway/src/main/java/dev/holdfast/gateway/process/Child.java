package dev.holdfast.gateway.process;

import dev.holdfast.ByteBudget;
import dev.holdfast.LogThrottle;
import dev.holdfast.json.backend.LogText;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
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
    /** Hears of a child's output and of its death, on one thread but where it says otherwise. */
    public interface Listener {
        /** Whether it wants to {@linkplain #awaitReady wait} before the next line. */
        boolean busy();

        /** Waits until it wants more of the output. */
        void awaitReady();

        /** A line of the child's output. */
        void received(byte[] line);

        /** The child is dead; said once, and not for a child that was {@linkplain Child#close closed}. */
        void died(String cause);

        /**
         * The child was closed: nobody wants any more of its output, and nobody waits. Said on any thread, perhaps again,
         * and after its death too.
         */
        void closed();
    }

    /** A child as the log names it: by its own name, and by its session as soon as that has an id, in the form of all other lines. */
    public static final class Name {
        /** A whole id is a credential. */
        private static final int SHORT = 8;

        private final String own;
        private final Supplier<String> session;

        /**
         * A name.
         *
         * @param own different for any two children
         * @param session the session's id, empty while it has none
         */
        public Name(String own, Supplier<String> session) {
            this.own = own;
            this.session = session;
        }

        /** The name without the session. */
        String own() {
            return own;
        }

        @Override
        public String toString() {
            String id = session.get();
            return id.isEmpty() ? own : own + " (session " + id.substring(0, Math.min(SHORT, id.length())) + ")";
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
    // A pipe of a child cannot be read at once without a thread that blocks on it: the JDK has no selectable pipe to a
    // process. Beside it there is the one of the JDK that waits for the exit code. A deep stack it does not need.
    private static final long STACK_BYTES = 256 << 10;

    private final Child.Name name;
    private final Process process;
    private final ChildPipes pipes;
    private final Runnable leftBehind;
    private final StdioOptions options;
    private final Workers workers;
    private final LogThrottle lines;
    private final ChildInput input;
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
     * @param budget where its large lines take room, and what waits for it
     * @param forget called when nothing is left of it, before anybody else is told
     * @param leftBehind called when others have its pipes open still, some time after its end
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
        this.input = new ChildInput(
                process.getOutputStream(), workers.blocking(), options.queuedBytes(), budget, this::inputBroke);
        this.output = new LineReader(
                process.getInputStream(),
                options.lineBytes(),
                new LineReader.LargeLine(
                        budget,
                        time,
                        cause -> workers.blocking().execute(() -> death.complete("the server process " + cause))));
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
        workers.watch().add(this::look);
    }

    /** Hands a line to the child; never blocks. */
    public void write(byte[] line) {
        input.write(line);
    }

    public Workers workers() {
        return workers;
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
     * Does something when its output was read for so long. Time in which a large line waits for room, or its listener is busy, does not
     * count.
     *
     * @return cancels it, for the time that it takes if the child is not held back
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
            // When the process has ended, the JDK takes this lock, and then all that is in the pipe: without an end, if
            // others write.
            synchronized (process.getInputStream()) {
                boolean more = true;
                while (more) {
                    if (listener.busy()) {
                        time.standsDuring(listener::awaitReady);
                    }
                    more = passed(output.next(), listener);
                    output.passedOn();
                }
            }
        } finally {
            output.dropLarge();
            outputEnded = true;
            settle();
        }
    }

    /**
     * Called by the watch. It notices the exit of a child whose output is still open in a grandchild, for which the reading thread
     * would wait.
     */
    private boolean look() {
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

    /**
     * Passes a piece of the output on; false if nothing is to follow. In a frame of its own, so that no line stays in memory while the
     * next one is waited for.
     */
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

    /**
     * The output has ended. The exit is due as well, unless something is odd: the wait makes the cause precise, and lets the last
     * words through.
     */
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

    /** Has the rest of the error output read, by this thread or another one, and waits until it is. */
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

    /** Runs a task when what the child has said is read, if the child has not died by then. */
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

    /** What others write into its pipes, or do not read from them, holds no thread and no file any more. */
    private void closePipes() {
        if (outputEnded && errors.ended().isDone() && input.ended()) {
            return;
        }
        // one that writes ends as soon as the pipe is closed
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
            workers.ends().begin(new ChildEnds.End(name, process, closeGrace, options.termGrace(), ended));
        }
    }
}
