package dev.holdfast.servlet.http;

import dev.holdfast.servlet.guard.Rejection;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Optional;

/** A body on its way, in memory that grows with what has come, not with what was announced. For one thread at a time. */
final class BodyBuffer {
    /** The first piece of a body. */
    private static final int CHUNK = 8 << 10;

    private static final byte[] NOTHING = {};

    private final RequestMemory memory;
    private final int limit;
    private final int announced;
    private final int most;
    private byte[] bytes = NOTHING;
    private int size;
    private boolean ended;

    /** A body that is announced to have so many bytes, -1 if nothing is announced. */
    BodyBuffer(RequestMemory memory, int limit, int announced) {
        this.memory = memory;
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
        Optional<Rejection> full = memory.grow(larger);
        if (full.isEmpty()) {
            bytes = Arrays.copyOf(bytes, larger);
        }
        return full;
    }

    /** Says so if what is announced cannot come, before any of it does. */
    Optional<Rejection> check() {
        return announced <= limit ? memory.check(announced) : Optional.empty();
    }

    /** Returns what has arrived, whose memory stays taken until the request is over. */
    byte[] take() {
        byte[] body = size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
        memory.whole(size);
        bytes = NOTHING;
        return body;
    }

    /** Lets go of the memory; a second time does nothing. */
    void drop() {
        if (bytes.length > 0) {
            memory.drop();
        }
        bytes = NOTHING;
        size = 0;
    }
}
