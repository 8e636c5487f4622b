package dev.holdfast.gateway.process;

import dev.holdfast.LogThrottle;
import dev.holdfast.json.backend.LogText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The error output of a child. Its lines go to the log, as far as the throttle lets them; the last ones are kept for error messages.
 * Whoever finds something to read reads it, one thread at a time, so that a silent child takes no thread.
 */
final class ChildErrors {
    private static final Logger log = LoggerFactory.getLogger(ChildErrors.class);
    private static final int LINE_BYTES = 4 << 10;
    private static final int CHUNK = 4 << 10;
    private static final int KEPT_LINES = 5;

    private final Child.Name name;
    private final InputStream stream;
    private final LogThrottle lines;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final Deque<String> last = new ArrayDeque<>(0);
    private final AtomicBoolean reading = new AtomicBoolean();
    private volatile boolean exited;
    private volatile boolean closed;
    /** The line that has no end yet, up to its limit. */
    private ByteArrayOutputStream line = new ByteArrayOutputStream(0);

    private boolean cut;

    ChildErrors(Child.Name name, InputStream stream, LogThrottle lines) {
        this.name = name;
        this.stream = stream;
        this.lines = lines;
    }

    /** Claims the reading if there is something to read and nobody does; never blocks. If true, the caller must {@link #read}. */
    boolean claim() {
        if (ended.isDone() || !reading.compareAndSet(false, true)) {
            return false;
        }
        if (exited || available() > 0) {
            return true;
        }
        release();
        return false;
    }

    /** Reads what is available, or to the end if the child has exited. For the thread that has claimed it. */
    void read() {
        byte[] chunk = new byte[CHUNK];
        boolean more = true;
        // the same lock as in Child.read
        synchronized (stream) {
            while (more && (exited || available() > 0)) {
                int read = fill(chunk);
                more = read >= 0;
                for (int i = 0; i < read; i++) {
                    take(chunk[i]);
                }
            }
        }
        if (!more) {
            end();
        }
        release();
    }

    /** The child has exited: the stream has an end. May block until that is reached. */
    void finish() {
        exited = true;
        if (claim()) {
            read();
        }
    }

    /** Ends the stream behind what is read next, and closes it then. For any thread. */
    void close() {
        closed = true;
    }

    /** Ends the claim. If the child has exited meanwhile, nobody else will read the rest: this thread does. */
    private void release() {
        boolean late = exited;
        reading.set(false);
        if (!late && exited) {
            finish();
        }
    }

    private int available() {
        try {
            return stream.available();
        } catch (IOException e) {
            return exited ? 1 : 0;
        }
    }

    private int fill(byte[] chunk) {
        try {
            int read = closed ? -1 : stream.read(chunk);
            if (closed) {
                stream.close();
                return -1;
            }
            return read;
        } catch (IOException e) {
            return -1;
        }
    }

    private void take(byte value) {
        if (value == '\n') {
            takeLine();
        } else if (line.size() < LINE_BYTES) {
            line.write(value);
        } else {
            cut = true;
        }
    }

    private void takeLine() {
        String text = LogText.whole(line.toByteArray()).stripTrailing() + (cut ? "..." : "");
        line = new ByteArrayOutputStream(0);
        cut = false;
        lines.write(more -> log.info("{}: {}{}", name, text, more));
        synchronized (last) {
            if (last.size() == KEPT_LINES) {
                last.removeFirst();
            }
            last.addLast(LogText.shortened(text));
        }
    }

    private void end() {
        if (line.size() > 0) {
            takeLine();
        }
        ended.complete(null);
    }

    /** Completes when the child has exited and the stream has been read to its end. */
    CompletableFuture<Void> ended() {
        return ended;
    }

    /** The last lines, each on a line of its own; empty if there were none. */
    String last() {
        if (!exited && claim()) {
            read();
        }
        synchronized (last) {
            return String.join("\n", last);
        }
    }
}
