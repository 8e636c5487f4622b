package dev.holdfast.gateway.process;

import dev.holdfast.ByteBudget;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;

/** Splits what a process writes into lines, with a bound on their length. For one thread, but for what says otherwise. */
public final class LineReader {
    /** The size of the buffer that an idle reader holds; there may be thousands of readers. */
    private static final int CHUNK = 1 << 10;
    /** How much of a line is kept that is too long: enough for the log. */
    private static final int SHOWN = 1 << 10;

    /** A line that fills so many bytes is large: it is kept in pieces of this size, and takes room of the budget. */
    static final int PIECE = ByteBudget.FREE;
    /** While a large line is put together it is there twice; again while it is passed on, where its id is replaced. */
    private static final int COPIES = 2;

    private final InputStream in;
    private final int limit;
    private final ReadingTime time;
    private final ByteBudget.Reader room;
    private final Semaphore served = new Semaphore(0);
    /** The beginning of a large line; any thread may drop it, under the lock. */
    private final List<byte[]> pieces = new ArrayList<>();

    private volatile boolean dropsLarge;
    private byte[] buffer = new byte[CHUNK];
    private int from;
    private int end;
    /** How many bytes of the line are in pieces, or were. */
    private int kept;

    private boolean skipping;
    private volatile boolean closed;

    /** The next piece of the output. */
    public sealed interface Next {}

    /** A line without its end; the last one may have had none. */
    public record Line(byte[] bytes) implements Next {}

    /** The first bytes of a line that is longer than the limit; the rest of it is not kept. */
    public record TooLong(byte[] start) implements Next {}

    /** A large line was not kept: it took too long while others waited, or {@link #dropLarge} was called. */
    record Dropped() implements Next {}

    /** There is no more. */
    public record End() implements Next {}

    /**
     * A reader of a stream that shares no room with others.
     *
     * @param limit so many bytes a line may have
     */
    public LineReader(InputStream in, int limit) {
        this(in, limit, ByteBudget.withoutLimit(), new ReadingTime(System::nanoTime), cause -> {});
    }

    /**
     * A reader of one stream among many.
     *
     * @param limit so many bytes a line may have
     * @param budget where a large line takes room, until it was passed on
     * @param time pauses while a large line waits for room
     * @param late is told what the process did where a line is given up; must not block
     */
    LineReader(InputStream in, int limit, ByteBudget budget, ReadingTime time, Consumer<String> late) {
        this.in = in;
        this.limit = limit;
        this.time = time;
        this.room = budget.reader(COPIES, Runnable::run, cause -> {
            drop();
            late.accept(cause);
        });
    }

    /** Waits for the next line, and for room where it is large; a stream that fails has ended. */
    public Next next() {
        if (kept > 0) {
            passedOn();
        }
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
            if (kept + searched > limit) {
                skipping = true;
                return line(end, end);
            }
            if (searched == PIECE) {
                if (!keep()) {
                    skipping = true;
                    return new Dropped();
                }
                kept += searched;
                searched = 0;
                buffer = new byte[CHUNK];
                from = 0;
                end = 0;
            }
            if (!fill()) {
                return end - from + kept > 0 ? line(end, end) : new End();
            }
        }
    }

    /** Keeps the buffer as a piece, and waits until there is room for it and the next one; false if large lines are dropped. */
    private boolean keep() {
        synchronized (this) {
            if (dropsLarge) {
                return false;
            }
            pieces.add(buffer);
        }
        room.hold(kept + 2 * PIECE, served::release);
        if (!served.tryAcquire()) {
            time.pauseDuring(this::awaitRoom);
        }
        return !dropsLarge;
    }

    private void awaitRoom() {
        try {
            served.acquire();
        } catch (InterruptedException e) {
            dropLarge();
            Thread.currentThread().interrupt();
        }
    }

    /** The last line was passed on: gives back the room that it took. {@link #next} does so too. */
    void passedOn() {
        if (kept > 0) {
            synchronized (this) {
                pieces.clear();
            }
            room.give();
            kept = 0;
        }
    }

    /**
     * Drops what was read of a large line, and gives its room back; large lines are {@link Dropped} from now on. For any thread,
     * while another one waits for a line.
     */
    void dropLarge() {
        drop();
        room.close();
    }

    private void drop() {
        synchronized (this) {
            dropsLarge = true;
            pieces.clear();
        }
        served.release();
    }

    /** Ends the stream behind what is read next, and closes it then. For any thread. */
    void close() {
        closed = true;
    }

    private Next line(int lineEnd, int next) {
        int start = from;
        from = next;
        if (kept + lineEnd - start > limit) {
            return new TooLong(beginning(start));
        }
        if (kept > 0) {
            return large(start, lineEnd);
        }
        boolean carriageReturn = lineEnd > start && buffer[lineEnd - 1] == '\r';
        return new Line(Arrays.copyOfRange(buffer, start, carriageReturn ? lineEnd - 1 : lineEnd));
    }

    private synchronized byte[] beginning(int start) {
        int shown = Math.min(SHOWN, limit);
        if (kept == 0) {
            return Arrays.copyOfRange(buffer, start, start + shown);
        }
        return dropsLarge ? new byte[0] : Arrays.copyOf(pieces.get(0), shown);
    }

    /** Puts a large line together, whose last part is in the buffer. */
    private synchronized Next large(int start, int lineEnd) {
        if (dropsLarge || !room.passing()) {
            return new Dropped();
        }
        int before = pieces.size() * PIECE;
        byte last = lineEnd > start ? buffer[lineEnd - 1] : pieces.get(pieces.size() - 1)[PIECE - 1];
        ByteBuffer line = ByteBuffer.allocate(before + lineEnd - start - (last == '\r' ? 1 : 0));
        pieces.forEach(piece -> line.put(piece, 0, Math.min(PIECE, line.remaining())));
        line.put(buffer, start, line.remaining());
        pieces.clear();
        return new Line(line.array());
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

    /** Reads more behind what is there, which is less than a piece of a large line; false at the end of the stream. */
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
            buffer = Arrays.copyOf(buffer, 2 * end);
        }
        try {
            int read = closed ? -1 : in.read(buffer, end, buffer.length - end);
            if (closed) {
                in.close();
                return false;
            }
            end += Math.max(read, 0);
            return read >= 0;
        } catch (IOException e) {
            return false;
        }
    }
}
