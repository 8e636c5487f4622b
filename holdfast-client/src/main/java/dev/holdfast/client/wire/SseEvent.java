package dev.holdfast.client.wire;

import java.util.Optional;

/**
 * One server-sent event.
 *
 * @param id the id that stands in this very event, of {@link #LONGEST_ID} bytes at most; an event without one does not move the cursor
 * @param name what kind of event it is, or the beginning of a name of more than 8 kB; {@code message} where it does not say
 * @param data its data, UTF-8; empty in an event that only sets the cursor
 */
public record SseEvent(Optional<String> id, String name, byte[] data) {
    /** The name of an event that carries a JSON-RPC message. */
    public static final String MESSAGE = "message";

    /** How many bytes an id may have, since a request header carries it and readers keep many. A longer one is ignored. */
    public static final int LONGEST_ID = 4_096;
}
