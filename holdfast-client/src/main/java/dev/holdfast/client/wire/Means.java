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
 */
public record Means(HttpClient http, Executor delivery, ScheduledExecutorService clock, DoubleSupplier random) {}
