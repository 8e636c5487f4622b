package dev.holdfast.servlet.body;

import dev.holdfast.Refusal;
import dev.holdfast.servlet.guard.Rejection;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Optional;

/** A body on its way, in memory that grows with what has come, not with what was announced. For one thread at a time. */
final class BodyBuffer {
    /** The first piece of a body, for which a part of the room is kept. */
    private static final int CHUNK = 8 << 10;

    private static final byte[] NOTHING = {};

    private final BodyRoom room;
    private final int limit;
    private final int announced;
    private final int most;
    private byte[] bytes = NOTHING;
    private int size;
    private boolean ended;

    /** A body that is announced to have so many bytes, -1 if nothing is announced. */
    BodyBuffer(BodyRoom room, int limit, int announced) {
        this.room = room;
        this.limit = limit;
        this.announced = announced;
        // one more than the limit tells a body that reaches it from one that exceeds it
        this.most = announced < 0 ? (int) Math.min(limit + 1L, Integer.MAX_VALUE) : announced;
    }

    int size() {
        return size;
    }

    /** Whether its length was announced. */
    boolean announced() {
        return announced >= 0;
    }

    /** Reads what there is, or waits for it, and returns how much; -1 at the end. */
    int readFrom(InputStream in) throws IOException {
        boolean full = size == bytes.length;
        int count = full ? in.read() : in.read(bytes, size, bytes.length - size);
        size += full ? 0 : Math.max(count, 0);
        ended = count < 0;
        return count;
    }

    /** Whether all of it has come: as much as was announced, or all there was where nothing was announced. */
    boolean whole() {
        return size == announced || (announced < 0 && ended);
    }

    /** Says so if more has come than may come. */
    Optional<Rejection> excess() {
        return size > limit ? Optional.of(Rejection.tooLarge(limit)) : Optional.empty();
    }

    /** Makes place for more to be read, or says why there is none. */
    Optional<Rejection> grow() {
        Optional<Rejection> excess = excess();
        if (excess.isPresent() || size < bytes.length || size == most) {
            return excess;
        }
        int larger = (int) Math.min(most, Math.max(CHUNK, 2L * size));
        int more = larger - bytes.length;
        if (!(bytes.length == 0 ? room.takeFirst(more) : room.takeMore(more))) {
            return Optional.of(Rejection.of(Refusal.BODY_ROOM));
        }
        try {
            bytes = Arrays.copyOf(bytes, larger);
        } catch (OutOfMemoryError e) {
            room.giveBack(more);
            throw e;
        }
        return Optional.empty();
    }

    /** Returns what has arrived, and gives its room back: from here on the caller answers for the memory. */
    byte[] take() {
        byte[] body = size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
        drop();
        return body;
    }

    /** Lets go of the memory; a second time does nothing. */
    void drop() {
        room.giveBack(bytes.length);
        bytes = NOTHING;
        size = 0;
    }
}
