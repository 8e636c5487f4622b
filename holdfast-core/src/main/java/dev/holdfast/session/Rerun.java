package dev.holdfast.session;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.SessionRecord;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * What the record of a running call keeps where the call may be run again after its process has died. A call that it may have
 * died of is not tried for ever.
 *
 * @param runs how often it was run so far
 * @param request the request
 */
record Rerun(int runs, byte[] request) {
    private static final byte VERSION = 1;
    private static final int HEADER = 1 + Integer.BYTES;
    private static final int MOST_RUNS = 3;

    /** What to keep of a request that runs for the first time. */
    static byte[] first(InboundMessage request) {
        return new Rerun(1, request.bytes()).pack();
    }

    /** What was kept of a call that is to be run again; empty if it must not be. */
    static Optional<Rerun> of(SessionRecord.RunningCall call) {
        ByteBuffer packed = ByteBuffer.wrap(call.extension());
        if (packed.remaining() <= HEADER || packed.get() != VERSION) {
            return Optional.empty();
        }
        int runs = packed.getInt();
        byte[] request = new byte[packed.remaining()];
        packed.get(request);
        return runs < MOST_RUNS ? Optional.of(new Rerun(runs, request)) : Optional.empty();
    }

    Rerun next() {
        return new Rerun(runs + 1, request);
    }

    byte[] pack() {
        return ByteBuffer.allocate(HEADER + request.length)
                .put(VERSION)
                .putInt(runs)
                .put(request)
                .array();
    }
}
