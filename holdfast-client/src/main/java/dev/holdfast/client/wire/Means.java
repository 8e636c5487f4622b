package dev.holdfast.client.wire;

import java.net.http.HttpClient;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.DoubleSupplier;

/**
 * With what exchanges are made.
 *
 * @param http sends and receives
 * @param delivery runs those who take the messages
 * @param clock runs what is due later; its tasks do not block
 * @param random numbers from 0 to 1, by which retries are spread
 * @param redirects which are followed; the HTTP client itself follows none
 */
public record Means(
        HttpClient http,
        Executor delivery,
        ScheduledExecutorService clock,
        DoubleSupplier random,
        Redirects redirects) {
    /** The same, with other redirects that are followed. */
    public Means withRedirects(Redirects other) {
        return new Means(http, delivery, clock, random, other);
    }
}
