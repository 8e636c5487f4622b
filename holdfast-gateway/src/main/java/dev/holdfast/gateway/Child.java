package dev.holdfast.gateway;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A child process that speaks in lines. It is dead when the process that was started has exited, <em>or</em> its output has
 * ended, or it broke a rule; then the whole process group is ended.
 */
final class Child {
    /** Hears a child, on one thread. */
    interface Listener {
        /** A line of the child's output. */
        void received(byte[] line);

        /** The child is dead; said once, and not for a child that was {@linkplain Child#close closed}. */
        void died(String cause);
    }

    private enum Life {
        RUNNING,
        CLOSED,
        DEAD
    }

    private static final Logger log = LoggerFactory.getLogger(Child.class);
    private static final long SETTLE_MILLIS = 200;
    private static final int SIGNALLED = 128;
    // A pipe of a child cannot be read without a thread that blocks on it: the JDK has no selectable pipe to a process.
    // Two
    // such threads are cheap beside the process they read; deep stacks they do not need.
    private static final long STACK_BYTES = 256 << 10;

    private final String name;
    private final Process process;
    private final StdioOptions options;
    private final Workers workers;
    private final LineBudget budget;
    private final ChildInput input;
    private final ChildErrors errors;
    private final ChildEnd end;
    private final CompletableFuture<Void> outputEnded = new CompletableFuture<>();
    private final AtomicReference<Life> life = new AtomicReference<>(Life.RUNNING);
    private final CompletableFuture<String> death = new CompletableFuture<>();

    Child(String name, ProcessStarter.Started started, StdioOptions options, InputRoom room, Workers workers) {
        this.name = name;
        this.process = started.process();
        this.options = options;
        this.workers = workers;
        this.input = new ChildInput(
                process.getOutputStream(), workers.blocking(), options.queuedBytes(), room, this::inputBroke);
        this.budget = new LineBudget(name, System::nanoTime);
        this.errors = new ChildErrors(name, process.getErrorStream(), budget);
        this.end = new ChildEnd(name, started, options, workers);
    }

    /** The child's name in the log. */
    String name() {
        return name;
    }

    /** How much it may fill the log. */
    LineBudget budget() {
        return budget;
    }

    StdioOptions options() {
        return options;
    }

    /** Starts to read; call it once. */
    void listen(Listener listener) {
        log.debug("{}: started, process {}", name, process.pid());
        death.thenAccept(cause -> {
            if (life.compareAndSet(Life.RUNNING, Life.DEAD)) {
                listener.died(cause);
                input.close();
                end.beginAtOnce();
            }
        });
        thread("stdout", () -> read(listener));
        thread("stderr", errors);
        process.onExit().thenRun(this::settle);
    }

    /** Hands a line to the child; never blocks. */
    void write(byte[] line) {
        input.write(line);
    }

    /** The last lines of the error output; empty if there were none. */
    String lastErrors() {
        return errors.last();
    }

    /** Completes when nothing is left of the child and its group. */
    CompletionStage<Void> gone() {
        return end.gone();
    }

    /** Ends the child and its group; completes when nothing is left of them. */
    CompletionStage<Void> close() {
        life.compareAndSet(Life.RUNNING, Life.CLOSED);
        input.close();
        return end.begin();
    }

    private void read(Listener listener) {
        try {
            pass(new LineReader(process.getInputStream(), options.lineBytes()), listener);
        } finally {
            outputEnded.complete(null);
            settle();
        }
    }

    private void pass(LineReader lines, Listener listener) {
        LineReader.Next next = lines.next();
        while (next instanceof LineReader.Line line) {
            try {
                listener.received(line.bytes());
            } catch (RuntimeException e) {
                log.error("{}: a line could not be passed on", name, e);
            }
            next = lines.next();
        }
        if (next instanceof LineReader.TooLong tooLong) {
            log.warn("{}: a line that begins with {}", name, LogText.of(tooLong.start()));
            death.complete("the server process sent a line longer than " + options.lineBytes() + " bytes");
        }
    }

    private void inputBroke(String cause) {
        afterwards(() -> death.complete(process.isAlive() && !outputEnded.isDone() ? cause : cause()));
    }

    /**
     * The process has exited or its output has ended. The other is due as well, unless something is odd: the wait lets the last
     * messages through, and makes the cause precise.
     */
    private void settle() {
        CompletableFuture.allOf(outputEnded, errors.ended(), process.onExit()).thenRun(() -> death.complete(cause()));
        afterwards(() -> death.complete(cause()));
    }

    private void afterwards(Runnable work) {
        if (life.get() == Life.RUNNING) {
            workers.clock().schedule(() -> workers.blocking().execute(work), SETTLE_MILLIS, TimeUnit.MILLISECONDS);
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

    private void thread(String stream, Runnable work) {
        Thread thread = new Thread(null, work, "holdfast-" + stream + " " + name, STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }
}
