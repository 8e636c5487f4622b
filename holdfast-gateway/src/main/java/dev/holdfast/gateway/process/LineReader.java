package dev.holdfast.gateway.process;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** Splits what a process writes into lines, with a bound on their length. For one thread. */
public final class LineReader {
    /** The size of the buffer that an idle reader holds; there may be thousands of readers. */
    private static final int CHUNK = 1 << 10;

    private final InputStream in;
    private final int limit;
    private byte[] buffer = new byte[CHUNK];
    private int from;
    private int end;
    private boolean skipping;

    /** The next piece of the output. */
    public sealed interface Next {}

    /** A line without its end; the last one may have had none. */
    public record Line(byte[] bytes) implements Next {}

    /** The beginning of a line that is longer than the limit; the rest of it is not kept. */
    public record TooLong(byte[] start) implements Next {}

    /** There is no more. */
    public record End() implements Next {}

    /**
     * A reader of a stream.
     *
     * @param limit so many bytes a line may have
     */
    public LineReader(InputStream in, int limit) {
        this.in = in;
        this.limit = limit;
    }

    /** Waits for the next line; a stream that fails has ended. */
    public Next next() {
        while (skipping) {
            int lineEnd = indexOfLineEnd(from);
            if (lineEnd >= 0) {
                from = lineEnd + 1;
                skipping = false;
            } else {
                from = end;
                if (!fill()) {
                    return new End();
                }
            }
        }
        int searched = 0;
        while (true) {
            int lineEnd = indexOfLineEnd(from + searched);
            if (lineEnd >= 0) {
                return line(lineEnd, lineEnd + 1);
            }
            searched = end - from;
            if (searched > limit) {
                skipping = true;
                return line(end, end);
            }
            if (!fill()) {
                return end > from ? line(end, end) : new End();
            }
        }
    }

    private Next line(int lineEnd, int next) {
        int start = from;
        from = next;
        if (lineEnd - start > limit) {
            return new TooLong(Arrays.copyOfRange(buffer, start, start + limit));
        }
        boolean carriageReturn = lineEnd > start && buffer[lineEnd - 1] == '\r';
        return new Line(Arrays.copyOfRange(buffer, start, carriageReturn ? lineEnd - 1 : lineEnd));
    }

    private int indexOfLineEnd(int start) {
        for (int i = start; i < end; i++) {
            if (buffer[i] == '\n') {
                return i;
            }
        }
        return -1;
    }

    private boolean idle() {
        try {
            return in.available() == 0;
        } catch (IOException e) {
            return true;
        }
    }

    /** Reads more behind what is there; false at the end of the stream. */
    private boolean fill() {
        if (from == end) {
            from = 0;
            end = 0;
            if (buffer.length > CHUNK && idle()) {
                buffer = new byte[CHUNK];
            }
        } else if (end == buffer.length && from > 0) {
            System.arraycopy(buffer, from, buffer, 0, end - from);
            end -= from;
            from = 0;
        } else if (end == buffer.length) {
            buffer = Arrays.copyOf(buffer, (int) Math.min(2L * end, limit + (long) CHUNK));
        }
        try {
            int read = in.read(buffer, end, buffer.length - end);
            end += Math.max(read, 0);
            return read >= 0;
        } catch (IOException e) {
            return false;
        }
    }
}
