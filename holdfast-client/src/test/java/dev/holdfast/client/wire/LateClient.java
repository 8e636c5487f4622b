package dev.holdfast.client.wire;

import dev.holdfast.client.Eventually;
import java.io.IOException;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.PushPromiseHandler;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** A real client that hands a request over, and lets its sender go on only when something has happened. */
final class LateClient extends HttpClient {
    private final HttpClient client;
    private CompletableFuture<?> until = CompletableFuture.completedFuture(null);
    private Runnable asked = () -> {};
    private volatile boolean cancelled;

    LateClient(HttpClient client) {
        this.client = client;
    }

    void lateUntil(CompletableFuture<?> happened) {
        until = happened;
    }

    void whenAsked(Runnable does) {
        asked = does;
    }

    /** Whether somebody has cancelled an exchange. */
    boolean cancelled() {
        return cancelled;
    }

    private final class Sending<T> extends CompletableFuture<HttpResponse<T>> {
        @Override
        public boolean cancel(boolean mayInterrupt) {
            cancelled = true;
            return super.cancel(mayInterrupt);
        }
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, BodyHandler<T> handler) {
        Sending<T> sending = new Sending<>();
        asked.run();
        client.sendAsync(request, handler).whenComplete((response, failure) -> {
            if (failure == null) {
                sending.complete(response);
            } else {
                sending.completeExceptionally(failure);
            }
        });
        Eventually.await(until::isDone, () -> "what the sender waits for");
        return sending;
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(
            HttpRequest request, BodyHandler<T> handler, PushPromiseHandler<T> pushes) {
        return client.sendAsync(request, handler, pushes);
    }

    @Override
    public <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler)
            throws IOException, InterruptedException {
        return client.send(request, handler);
    }

    @Override
    public Optional<CookieHandler> cookieHandler() {
        return client.cookieHandler();
    }

    @Override
    public Optional<Duration> connectTimeout() {
        return client.connectTimeout();
    }

    @Override
    public Redirect followRedirects() {
        return client.followRedirects();
    }

    @Override
    public Optional<ProxySelector> proxy() {
        return client.proxy();
    }

    @Override
    public SSLContext sslContext() {
        return client.sslContext();
    }

    @Override
    public SSLParameters sslParameters() {
        return client.sslParameters();
    }

    @Override
    public Optional<Authenticator> authenticator() {
        return client.authenticator();
    }

    @Override
    public Version version() {
        return client.version();
    }

    @Override
    public Optional<Executor> executor() {
        return client.executor();
    }
}
