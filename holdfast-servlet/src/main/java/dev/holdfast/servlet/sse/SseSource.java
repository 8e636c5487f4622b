package dev.holdfast.servlet.sse;

import dev.holdfast.StreamReader;
import org.jspecify.annotations.Nullable;

/**
 * What a connection carries.
 *
 * @param reader the cursor
 * @param framing how events are written
 * @param returnable whether the client could come back if the connection ended before its first event
 * @param refusal answers with a refusal by the store, where nothing may have been written; else a refused stream ends in order
 * @param proof learns whether the peer is there, where somebody may want to know
 */
public record SseSource(
        StreamReader reader,
        Framing framing,
        boolean returnable,
        @Nullable Runnable refusal,
        @Nullable PeerProof proof) {
    /** The stream of a call that has just been opened, and that its store may refuse. */
    public static SseSource call(StreamReader reader, Framing framing, Runnable refusal) {
        return new SseSource(reader, framing, framing.tellsPosition(), refusal, null);
    }

    /** The listening stream, or any that the client has come back to. */
    public static SseSource get(StreamReader reader, Framing framing) {
        return new SseSource(reader, framing, true, null, null);
    }

    /** The listening stream of a session that ends with its connection: that is never ended for its age. */
    public static SseSource only(StreamReader reader, Framing framing, PeerProof proof) {
        return new SseSource(reader, framing, false, null, proof);
    }
}
