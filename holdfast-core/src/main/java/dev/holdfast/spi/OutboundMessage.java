package dev.holdfast.spi;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One JSON-RPC message from the backend to the client.
 *
 * @param kind one of {@link EventKind}
 * @param id the id that a response answers, or the id of a request to the client; absent for notifications
 * @param bytes the message as UTF-8 JSON on one line; shared, never changed
 */
public record OutboundMessage(byte kind, @Nullable RequestId id, byte[] bytes) {
    public OutboundMessage {
        Objects.requireNonNull(bytes, "bytes");
        boolean needsId = EventKind.answers(kind) || EventKind.asks(kind);
        if (needsId != (id != null)) {
            throw new IllegalArgumentException("an outbound message of kind " + kind + " with id " + id);
        }
    }
}
