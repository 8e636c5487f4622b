package dev.holdfast.gateway.process;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The beginning of a line for which its reader's buffer is too small, in pieces that are copied when the line is whole. Beyond 1 MiB
 * it takes room, which it gives back when it is cleared or closed. For one thread, but that any may close it.
 */
final class LargeLine {
    /** The size of a piece. */
    static final int PIECE = 64 << 10;

    private static final int FREE = 1 << 20;
    /** While a line is copied it is there twice; again while it is passed on, where its id is replaced. */
    private static final int COPIES = 2;

    private final OutputRoom.Share share;
    private final List<byte[]> pieces = new ArrayList<>();
    private boolean closed;

    LargeLine(OutputRoom.Share share) {
        this.share = share;
    }

    /** Adds a piece, and waits until there is room for it; false if the line was closed. */
    boolean add(byte[] piece, int before) {
        return (before + piece.length <= FREE || share.take((long) COPIES * piece.length)) && added(piece);
    }

    private synchronized boolean added(byte[] piece) {
        if (!closed) {
            pieces.add(piece);
        }
        return !closed;
    }

    /** The first bytes, no more than so many. */
    synchronized byte[] start(int most) {
        return closed ? new byte[0] : Arrays.copyOf(pieces.get(0), most);
    }

    /** The whole line with its last part, without the CR at its end; empty if it was closed. */
    synchronized Optional<byte[]> whole(byte[] last, int from, int to) {
        if (closed || !share.whole()) {
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
        share.give();
    }

    /** Drops what there is of the line, and takes no more. */
    void close() {
        synchronized (this) {
            closed = true;
            pieces.clear();
        }
        share.close();
    }
}
