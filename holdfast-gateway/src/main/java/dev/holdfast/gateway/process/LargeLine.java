package dev.holdfast.gateway.process;

import dev.holdfast.ByteBudget;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;

/**
 * The beginning of a line for which its reader's buffer is too small, in pieces that are copied when the line is whole. It takes room of
 * the budget, which it gives back when it is cleared or closed. For one thread, but that any may close it.
 */
final class LargeLine {
    /** The size of a piece. */
    static final int PIECE = ByteBudget.FREE;

    /** While a line is copied it is there twice; again while it is passed on, where its id is replaced. */
    private static final int COPIES = 2;

    private final ByteBudget.Reader room;
    private final ReadingTime time;
    private final List<byte[]> pieces = new ArrayList<>();
    private final Semaphore served = new Semaphore(0);
    private boolean closed;

    /**
     * A line of which nothing is there.
     *
     * @param time stands still while it waits for room
     * @param late hears what its process did where a line is given up; must not block
     */
    LargeLine(ByteBudget budget, ReadingTime time, Consumer<String> late) {
        this.time = time;
        this.room = budget.reader(COPIES, Runnable::run, cause -> {
            drop();
            late.accept(cause);
        });
    }

    /** Adds a piece, and waits until there is room for it and the next; false if the line was closed. */
    boolean add(byte[] piece, int before) {
        if (added(piece)) {
            room.hold(before + 2 * PIECE, served::release);
            if (!served.tryAcquire()) {
                time.standsDuring(this::await);
            }
        }
        return open();
    }

    private void await() {
        try {
            served.acquire();
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
        }
    }

    private synchronized boolean added(byte[] piece) {
        if (!closed) {
            pieces.add(piece);
        }
        return !closed;
    }

    private synchronized boolean open() {
        return !closed;
    }

    /** The first bytes, no more than so many. */
    synchronized byte[] start(int most) {
        return closed ? new byte[0] : Arrays.copyOf(pieces.get(0), most);
    }

    /** The whole line with its last part, without the CR at its end; empty if it was closed. */
    synchronized Optional<byte[]> whole(byte[] last, int from, int to) {
        if (closed || !room.passing()) {
            return Optional.empty();
        }
        int before = pieces.size() * PIECE;
        boolean carriageReturn = (to > from ? last[to - 1] : pieces.get(pieces.size() - 1)[PIECE - 1]) == '\r';
        ByteBuffer line = ByteBuffer.allocate(before + to - from - (carriageReturn ? 1 : 0));
        pieces.forEach(piece -> line.put(piece, 0, Math.min(PIECE, line.remaining())));
        line.put(last, from, line.remaining());
        pieces.clear();
        return Optional.of(line.array());
    }

    /** The line was passed on, or is not wanted: another one may begin. */
    void clear() {
        synchronized (this) {
            pieces.clear();
        }
        room.give();
    }

    /** Drops what there is of the line, and takes no more. */
    void close() {
        drop();
        room.close();
    }

    private void drop() {
        synchronized (this) {
            closed = true;
            pieces.clear();
        }
        served.release();
    }
}
