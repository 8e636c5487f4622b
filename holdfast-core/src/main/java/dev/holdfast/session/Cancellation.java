package dev.holdfast.session;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;

/**
 * The client gives up a request: the newest of those with this id that had begun, or that of one call.
 *
 * @param request the id
 * @param notification what the client has said
 * @param number names the cancellation where nodes may hear of it more than once: it ends one request of each, and none that has begun
 *     behind it; {@link #ONCE} where it comes once
 * @param call the number by which nodes know the call; {@link #ANY} where it is not known
 */
public record Cancellation(RequestId request, InboundMessage notification, long number, long call) {
    /** The number of a cancellation that nobody repeats. */
    public static final long ONCE = 0;

    /** It is the newest call. */
    public static final long ANY = 0;

    /** The same for the call of this number. */
    public Cancellation of(long known) {
        return new Cancellation(request, notification, number, known);
    }
}
