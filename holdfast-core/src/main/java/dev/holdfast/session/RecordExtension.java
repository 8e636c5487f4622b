package dev.holdfast.session;

import dev.holdfast.Lifetime;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.SessionRecord;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * What the engine keeps in the extension of a session's record. Newer versions may append to its bytes.
 *
 * @param lifetime how long the session lives
 * @param born the counter of the epoch in which its present life began
 * @param confirmed up to which offset its client has surely read the listening stream
 * @param followed whether its client has ever read the listening stream; not kept by early versions
 * @param introduction which server its last backend was, and whose lists its client was promised to hear of; not kept by early
 *     versions
 */
record RecordExtension(Lifetime lifetime, int born, long confirmed, boolean followed, Introduction introduction) {
    private static final byte VERSION = 1;
    private static final int DURATION = Long.BYTES + Integer.BYTES;
    private static final int INTRODUCTION = Long.BYTES + 1;
    private static final int SIZE = 1 + 5 * DURATION + Integer.BYTES + Long.BYTES;

    byte[] pack() {
        ByteBuffer packed = ByteBuffer.allocate(SIZE + 1 + INTRODUCTION).put(VERSION);
        put(packed, lifetime.grace());
        put(packed, lifetime.idle());
        put(packed, lifetime.retention());
        put(packed, lifetime.initialization());
        put(packed, lifetime.call());
        return packed.putInt(born)
                .putLong(confirmed)
                .put((byte) (followed ? 1 : 0))
                .putLong(introduction.server())
                .put(introduction.lists())
                .array();
    }

    /** What a record has; of a version that this one cannot read the session is left to whoever can. */
    static RecordExtension of(SessionRecord record) {
        ByteBuffer packed = ByteBuffer.wrap(record.extension());
        if (packed.remaining() < SIZE) {
            throw new IllegalArgumentException("an extension of " + packed.remaining() + " bytes");
        }
        if (packed.get() != VERSION) {
            throw new StoreUnavailableException(
                    new IllegalStateException("the session was kept by another version of this library"));
        }
        Lifetime lifetime =
                new Lifetime(duration(packed), duration(packed), duration(packed), duration(packed), duration(packed));
        return new RecordExtension(
                lifetime,
                packed.getInt(),
                packed.getLong(),
                packed.hasRemaining() && packed.get() != 0,
                packed.hasRemaining() ? new Introduction(packed.getLong(), packed.get()) : Introduction.NONE);
    }

    private static void put(ByteBuffer packed, Duration duration) {
        packed.putLong(duration.getSeconds()).putInt(duration.getNano());
    }

    private static Duration duration(ByteBuffer packed) {
        return Duration.ofSeconds(packed.getLong(), packed.getInt());
    }
}
