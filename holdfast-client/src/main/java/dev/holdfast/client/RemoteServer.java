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

/** A server at a URL, and how to deal with it. Immutable; serves any number of sessions. */
public final class RemoteServer {
    private final URI uri;
    private final HttpResources resources;
    private final Requests requests;
    private final ClientLimits limits;

    private RemoteServer(URI uri, HttpResources resources, Requests requests, ClientLimits limits) {
        this.uri = uri;
        this.resources = resources;
        this.requests = requests;
        this.limits = limits;
    }

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

    /** The endpoint. */
    public URI uri() {
        return uri;
    }

    /** How requests to it look. */
    public Requests requests() {
        return requests;
    }

    /** How long is tried, and how much is taken. */
    public ClientLimits limits() {
        return limits;
    }

    /** When to try again what fails there. */
    public RetryPolicy retryPolicy() {
        return new RetryPolicy(
                limits.retryTimeout(), () -> ThreadLocalRandom.current().nextDouble(), System::nanoTime);
    }

    /** Runs a task later, and not on the clock's own thread: it may ask for credentials. */
    public Future<?> later(long millis, Runnable task) {
        return resources.clock().schedule(() -> resources.due().execute(task), millis, TimeUnit.MILLISECONDS);
    }

    HttpResources resources() {
        return resources;
    }
}
