package dev.holdfast.redis;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.nio.ByteBuffer;

/**
 * Events as members of a sorted set.
 *
 * <pre>
 *   stream (12 bytes), offset (8), epoch (8), kind (1), length of the id or -1 (4), id, message
 * </pre>
 *
 * The first byte of an epoch is never 255, so that a range of bytes can name all members of one stream, or of one offset.
 */
final class EventCodec {
    private static final int NO_ID = -1;
    private static final int FIXED_BYTES = Codec.EPOCH_BYTES + 1 + Integer.BYTES;

    private EventCodec() {}

    /** What stands behind stream and offset. */
    static byte[] rest(Event event) {
        RequestId id = event.id();
        byte[] token = id == null ? new byte[0] : Codec.text(id.token());
        return ByteBuffer.allocate(FIXED_BYTES + token.length + event.bytes().length)
                .putInt(event.epoch().counter())
                .putInt(event.epoch().nonce())
                .put(event.kind())
                .putInt(id == null ? NO_ID : token.length)
                .put(token)
                .put(event.bytes())
                .array();
    }

    static Event event(byte[] member) {
        ByteBuffer from = ByteBuffer.wrap(member);
        StreamId stream = Codec.stream(from);
        long offset = from.getLong();
        Epoch epoch = Codec.epoch(from);
        byte kind = from.get();
        int length = from.getInt(from.position());
        if (length == NO_ID) {
            from.getInt();
            return new Event(stream, epoch, offset, kind, null, Codec.rest(from));
        }
        return new Event(stream, epoch, offset, kind, new RequestId(Codec.text(from)), Codec.rest(from));
    }
}
