package dev.holdfast.session;

import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;

/**
 * The client gives up the newest of its requests with this id.
 *
 * @param request the id
 * @param notification what the client has said
 * @param number names the cancellation among those that reach one node more than once, so that it cancels one request there;
 *     {@link #ONCE} where it comes once
 */
public record Cancellation(RequestId request, InboundMessage notification, long number) {
    /** The number of a cancellation that nobody repeats. */
    public static final long ONCE = 0;
}
