package dev.holdfast.client.wire;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.DoubleSupplier;

/**
 * With what exchanges are made.
 *
 * @param http sends and receives
 * @param delivery runs those who take the messages
 * @param due runs what the clock has found due
 * @param clock runs what is due later; its tasks do not block
 * @param random numbers from 0 to 1, by which retries are spread
 * @param redirects which are followed; the HTTP client itself follows none
 * @param room what large messages may take together
 */
public record Means(
        HttpSender http,
        Executor delivery,
        Executor due,
        ScheduledExecutorService clock,
        DoubleSupplier random,
        Redirects redirects,
        AnswerRoom room) {
    /** Means whose messages have all the room they want. */
    public Means(
            HttpSender http,
            Executor delivery,
            Executor due,
            ScheduledExecutorService clock,
            DoubleSupplier random,
            Redirects redirects) {
        this(http, delivery, due, clock, random, redirects, AnswerRoom.withoutLimit());
    }

    /** The same, whose messages are taken by others. */
    public Means withDelivery(Executor other) {
        return new Means(http, other, due, clock, random, redirects, room);
    }

    /** The same, with other redirects that are followed. */
    public Means withRedirects(Redirects other) {
        return new Means(http, delivery, due, clock, random, other, room);
    }

    /** The same, whose large messages share a room. */
    public Means withRoom(AnswerRoom other) {
        return new Means(http, delivery, due, clock, random, redirects, other);
    }
}
