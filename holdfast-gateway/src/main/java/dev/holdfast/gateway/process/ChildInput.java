package dev.holdfast.gateway.process;

import dev.holdfast.ByteBudget;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The standard input of a child, as a queue of lines that never blocks who fills it. A thread of the executor drains it, and is
 * held only while there is something that the child does not take.
 */
final class ChildInput {
    private static final Logger log = LoggerFactory.getLogger(ChildInput.class);
    private static final long COST_OF_A_LINE = 64;

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
    private boolean closed;
    private volatile boolean ended;

    /**
     * A queue in front of a pipe.
     *
     * @param limit bytes that may wait
     * @param budget counts what waits for this child and others
     * @param broken gets the cause, once, when the child cannot be written to any more
     */
    ChildInput(OutputStream pipe, Executor executor, long limit, ByteBudget budget, Consumer<String> broken) {
        this.pipe = pipe;
        this.executor = executor;
        this.limit = limit;
        this.budget = budget;
        this.broken = broken;
    }

    /** Adds a line, given without its end. */
    void write(byte[] line) {
        if (!add(line)) {
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

    private boolean add(byte[] line) {
        boolean start;
        synchronized (this) {
            if (closed) {
                return true;
            }
            long cost = cost(line);
            lines.add(line);
            if ((queued > 0 && queued + cost > limit) || !budget.takeInput(cost, queued - writing)) {
                giveUpQueue();
                return false;
            }
            queued += cost;
            start = !draining;
            draining = true;
        }
        if (start) {
            executor.execute(this::drain);
        }
        return true;
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
                    line = more();
                }
            }
            if (done()) {
                pipe.close();
                ended = true;
            }
        } catch (IOException e) {
            giveUp("the server process closed its input");
        } catch (RuntimeException | Error e) {
            log.error("a server process could not be written to", e);
            giveUp("the server process could not be written to");
        }
    }

    /** Counts the previous line as written, and takes the next one; null if there is none. */
    private synchronized byte @Nullable [] next() {
        release(writing);
        byte[] line = lines.poll();
        writing = line == null ? 0 : cost(line);
        return line;
    }

    private void release(long bytes) {
        queued -= bytes;
        budget.giveInput(bytes);
    }

    /** Takes the next line that came while the pipe was flushed; null ends this drainer. */
    private synchronized byte @Nullable [] more() {
        byte[] line = next();
        draining = line != null || closed;
        return line;
    }

    private synchronized boolean done() {
        return closed;
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
            giveUpQueue();
            release(writing);
            writing = 0;
        }
        if (first) {
            broken.accept(cause);
        }
    }

    private void giveUpQueue() {
        closed = true;
        release(queued - writing);
        lines.clear();
    }

    private static long cost(byte[] line) {
        return line.length + COST_OF_A_LINE;
    }
}
