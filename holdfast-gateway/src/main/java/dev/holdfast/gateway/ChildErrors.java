package dev.holdfast.gateway;

import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The error output of a child: goes to the log line by line, within its budget; its last lines are kept for error messages. */
final class ChildErrors implements Runnable {
    private static final Logger log = LoggerFactory.getLogger(ChildErrors.class);
    private static final int LINE_BYTES = 4 << 10;
    private static final int KEPT_LINES = 5;

    private final String name;
    private final InputStream stream;
    private final LineBudget budget;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final Deque<String> last = new ArrayDeque<>(KEPT_LINES);

    ChildErrors(String name, InputStream stream, LineBudget budget) {
        this.name = name;
        this.stream = stream;
        this.budget = budget;
    }

    @Override
    public void run() {
        LineReader lines = new LineReader(stream, LINE_BYTES);
        LineReader.Next next = lines.next();
        while (!(next instanceof LineReader.End)) {
            if (next instanceof LineReader.Line line) {
                take(LogText.whole(line.bytes()));
            } else if (next instanceof LineReader.TooLong tooLong) {
                take(LogText.whole(tooLong.start()) + "...");
            }
            next = lines.next();
        }
        budget.end();
        ended.complete(null);
    }

    private void take(String line) {
        if (budget.take()) {
            log.info("{}: {}", name, line);
        }
        synchronized (last) {
            if (last.size() == KEPT_LINES) {
                last.removeFirst();
            }
            last.addLast(LogText.shortened(line));
        }
    }

    /** Completes when the stream has ended. */
    CompletableFuture<Void> ended() {
        return ended;
    }

    /** The last lines, each on a line of its own; empty if there were none. */
    String last() {
        synchronized (last) {
            return String.join("\n", last);
        }
    }
}
