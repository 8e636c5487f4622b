package dev.holdfast.spi;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One JSON-RPC message from the client: its bytes as they came, and the few facts the engine acts on.
 *
 * @param kind request, notification or response
 * @param id the request's id, or the id a response answers; absent for a notification
 * @param method the method, empty for a response
 * @param bytes the message as UTF-8 JSON; shared, never changed
 * @param journal what the message changes in the session's journal when it succeeds
 * @param context what the edge attaches for the backend (the transport context of the request, for example);
 *     {@link #NO_CONTEXT} where there is none, as for a message replayed from the journal
 * @param parsed the message as whoever has read its bytes has found it, for a backend that would read them again; absent where it has
 *     come from a store or from another node
 */
public record InboundMessage(
        Kind kind,
        @Nullable RequestId id,
        String method,
        byte[] bytes,
        JournalChange journal,
        Object context,
        @Nullable Object parsed) {

    /** The context of a message that no connection carries. */
    public static final Object NO_CONTEXT = new Object();

    private static final byte[] NOTHING = {};

    /** The three shapes of a JSON-RPC message. */
    public enum Kind {
        REQUEST,
        NOTIFICATION,
        RESPONSE
    }

    public InboundMessage {
        Objects.requireNonNull(bytes, "bytes");
        if ((kind == Kind.NOTIFICATION) != (id == null)) {
            throw new IllegalArgumentException("a " + kind + " with id " + id);
        }
    }

    /** A message that nobody has read before. */
    public InboundMessage(
            Kind kind, @Nullable RequestId id, String method, byte[] bytes, JournalChange journal, Object context) {
        this(kind, id, method, bytes, journal, context, null);
    }

    /** The id of a request or response. */
    public RequestId requiredId() {
        if (id == null) {
            throw new IllegalStateException("a notification has no id");
        }
        return id;
    }

    /** What is left to say of this message once somebody else has its content. */
    public InboundMessage withoutContent() {
        return new InboundMessage(kind, id, method, NOTHING, journal, NO_CONTEXT);
    }

    /** The same message with another context. */
    public InboundMessage withContext(Object other) {
        return new InboundMessage(kind, id, method, bytes, journal, other, parsed);
    }

    /** The bytes of the message alone, without the context of the connection that carried it, as the journal keeps it. */
    public InboundMessage withoutContext() {
        return new InboundMessage(kind, id, method, bytes, journal, NO_CONTEXT);
    }
}
