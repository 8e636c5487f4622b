package dev.holdfast.rocksdb;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord.RunningCall;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** How events, running calls and messages of the journal are written. */
final class Values {
    private static final int NO_ID = -1;
    private static final int EVENT_BYTES = 2 * Integer.BYTES + 1 + Integer.BYTES;

    private Values() {}

    static byte[] event(Event event) {
        RequestId id = event.id();
        byte[] token = id == null ? new byte[0] : id.token().getBytes(StandardCharsets.UTF_8);
        return new Packer(EVENT_BYTES + token.length + event.bytes().length)
                .number(event.epoch().counter())
                .number(event.epoch().nonce())
                .number(event.kind())
                .number(id == null ? NO_ID : token.length)
                .rest(token)
                .rest(event.bytes())
                .pack();
    }

    static Event event(byte[] key, byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        Epoch epoch = new Epoch(from.getInt(), from.getInt());
        byte kind = from.get();
        boolean named = from.getInt(from.position()) != NO_ID;
        RequestId id = named ? new RequestId(Packer.text(from)) : null;
        if (!named) {
            from.getInt();
        }
        return new Event(Keys.stream(key), epoch, Keys.offset(key), kind, id, Packer.rest(from));
    }

    static byte[] call(RunningCall call) {
        Packer packer = new Packer(64).number(call.requests().size());
        call.requests().forEach(id -> packer.text(id.token()));
        return packer.sized(call.extension()).pack();
    }

    static RunningCall call(byte[] packed) {
        ByteBuffer from = ByteBuffer.wrap(packed);
        int count = Packer.count(from);
        List<RequestId> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(new RequestId(Packer.text(from)));
        }
        return new RunningCall(List.copyOf(requests), Packer.sized(from));
    }

    /** A message of the journal, and what it is about. */
    record Noted(String subject, byte[] message) {
        byte[] pack() {
            return new Packer(subject.length() + message.length + Integer.BYTES)
                    .text(subject)
                    .rest(message)
                    .pack();
        }

        static Noted unpack(byte[] packed) {
            ByteBuffer from = ByteBuffer.wrap(packed);
            return new Noted(Packer.text(from), Packer.rest(from));
        }
    }

    static byte[] number(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    static long number(byte[] packed) {
        return ByteBuffer.wrap(packed).getLong();
    }
}
