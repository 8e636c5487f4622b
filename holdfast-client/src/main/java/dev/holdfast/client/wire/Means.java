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
 */
public record Means(
        HttpSender http,
        Executor delivery,
        Executor due,
        ScheduledExecutorService clock,
        DoubleSupplier random,
        Redirects redirects) {
    /** The same, whose messages are taken by others. */
    public Means withDelivery(Executor other) {
        return new Means(http, other, due, clock, random, redirects);
    }

    /** The same, with other redirects that are followed. */
    public Means withRedirects(Redirects other) {
        return new Means(http, delivery, due, clock, random, other);
    }
}
