package dev.holdfast.client.wire;

import dev.holdfast.ByteBudget;
import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;

/**
 * What exchanges are made with.
 *
 * @param http sends and receives
 * @param delivery runs those who take the messages
 * @param due runs what the clock has found due
 * @param clock runs what is due later; its tasks do not block
 * @param redirects which are followed; the HTTP client itself follows none
 * @param room what large messages may take together
 */
public record HttpResources(
        HttpSender http,
        Executor delivery,
        Executor due,
        ScheduledExecutorService clock,
        Redirects redirects,
        ByteBudget room) {
    private static final int COPIES = 3;

    /** Where one message at a time takes room. While it grows or is copied it is there three times. */
    ByteBudget.Reader reader(Consumer<IOException> late) {
        return room.reader(COPIES, due, cause -> late.accept(new IOException("the server " + cause)));
    }

    /** The same, whose messages are taken by others. */
    public HttpResources withDelivery(Executor other) {
        return new HttpResources(http, other, due, clock, redirects, room);
    }

    /** The same, with other redirects that are followed. */
    public HttpResources withRedirects(Redirects other) {
        return new HttpResources(http, delivery, due, clock, other, room);
    }

    /** The same, whose large messages share a room. */
    public HttpResources withRoom(ByteBudget other) {
        return new HttpResources(http, delivery, due, clock, redirects, other);
    }
}
