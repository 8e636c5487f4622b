package dev.holdfast.client;

import dev.holdfast.ByteBudget;
import dev.holdfast.client.wire.HttpResources;
import dev.holdfast.client.wire.HttpResources.Redirects;
import dev.holdfast.client.wire.HttpSender;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A server at a URL, and how to deal with it. Serves any number of sessions.
 *
 * @param uri the endpoint
 * @param resources what its exchanges are made with
 * @param requests how requests to it look
 * @param limits how long is tried, and how much is taken
 */
public record RemoteServer(URI uri, HttpResources resources, Requests requests, ClientLimits limits) {
    /**
     * A server with plain requests and the default limits.
     *
     * @param uri the endpoint
     * @param http follows no redirects
     * @param clock runs what is due later; its tasks do not block
     * @param delivery runs those who take the messages, and what was due
     */
    public static RemoteServer at(URI uri, HttpClient http, ScheduledExecutorService clock, Executor delivery) {
        return at(uri, HttpSender.by(http), clock, delivery);
    }

    /** The same over another sender. */
    public static RemoteServer at(URI uri, HttpSender http, ScheduledExecutorService clock, Executor delivery) {
        HttpResources resources =
                new HttpResources(http, delivery, delivery, clock, Redirects.NONE, ByteBudget.withoutLimit());
        return new RemoteServer(uri, resources, Requests.PLAIN, ClientLimits.DEFAULT);
    }

    /** The same with other requests. */
    public RemoteServer withRequests(Requests other) {
        return new RemoteServer(uri, resources, other, limits);
    }

    /** The same with other limits. */
    public RemoteServer withLimits(ClientLimits other) {
        return new RemoteServer(uri, resources, requests, other);
    }

    /** The same, whose messages are taken by the threads that read them. */
    public RemoteServer withDeliveryAtOnce() {
        return new RemoteServer(uri, resources.withDelivery(Runnable::run), requests, limits);
    }

    /** The same, whose large messages share a room. */
    public RemoteServer withRoom(ByteBudget room) {
        return new RemoteServer(uri, resources.withRoom(room), requests, limits);
    }

    /** The same, whose redirects are followed that lead to the same origin. */
    public RemoteServer withRedirects() {
        return new RemoteServer(uri, resources.withRedirects(Redirects.WITHIN_ORIGIN), requests, limits);
    }

    /**
     * When to try again what fails there.
     *
     * @param watch may have less patience than the limits say
     */
    public RetryPolicy retryPolicy(SessionWatch watch) {
        return new RetryPolicy(
                () -> watch.patience(limits.retryTimeout()),
                () -> ThreadLocalRandom.current().nextDouble(),
                System::nanoTime);
    }

    /** Runs a task later, and not on the clock's own thread: it may ask for credentials. */
    public Future<?> later(long millis, Runnable task) {
        return resources.clock().schedule(() -> resources.due().execute(task), millis, TimeUnit.MILLISECONDS);
    }
}
