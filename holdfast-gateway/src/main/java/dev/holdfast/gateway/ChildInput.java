package dev.holdfast.gateway;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The standard input of a child, as a queue of lines that never blocks who fills it. A thread of the executor drains it, and is
 * held only while there is something that the child does not take.
 */
final class ChildInput {
    private static final long COST_OF_A_LINE = 64;

    private final OutputStream pipe;
    private final Executor executor;
    private final long limit;
    private final Consumer<String> broken;
    private final Queue<byte[]> lines = new ArrayDeque<>();
    private long queued;
    private boolean draining;
    private boolean closed;

    /**
     * A queue in front of a pipe.
     *
     * @param limit bytes that may wait
     * @param broken gets the cause, once, when the child cannot be written to any more
     */
    ChildInput(OutputStream pipe, Executor executor, long limit, Consumer<String> broken) {
        this.pipe = pipe;
        this.executor = executor;
        this.limit = limit;
        this.broken = broken;
    }

    /** Adds a line, given without its end. */
    void write(byte[] line) {
        if (!add(line)) {
            broken.accept("the server process does not read its input");
        }
    }

    /** Ends the input behind what is queued. */
    void close() {
        boolean start;
        synchronized (this) {
            start = !closed && !draining;
            draining |= start;
            closed = true;
        }
        if (start) {
            executor.execute(this::drain);
        }
    }

    private boolean add(byte[] line) {
        boolean start;
        synchronized (this) {
            if (closed) {
                return true;
            }
            long cost = cost(line);
            if (queued > 0 && queued + cost > limit) {
                give();
                return false;
            }
            lines.add(line);
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
            byte[] line = next(0);
            while (line != null) {
                pipe.write(line);
                pipe.write('\n');
                long written = cost(line);
                line = next(written);
                if (line == null) {
                    pipe.flush();
                    line = more();
                }
            }
            if (done()) {
                pipe.close();
            }
        } catch (IOException e) {
            if (giveUp()) {
                broken.accept("the server process closed its input");
            }
        }
    }

    private synchronized byte @Nullable [] next(long written) {
        queued -= written;
        return lines.poll();
    }

    /** What came while the pipe was flushed; when it is nothing, this drainer has ended. */
    private synchronized byte @Nullable [] more() {
        byte[] line = lines.poll();
        draining = line != null || closed;
        return line;
    }

    private synchronized boolean done() {
        return closed;
    }

    private synchronized boolean giveUp() {
        boolean first = !closed;
        give();
        return first;
    }

    private void give() {
        closed = true;
        lines.clear();
    }

    private static long cost(byte[] line) {
        return line.length + COST_OF_A_LINE;
    }
}
