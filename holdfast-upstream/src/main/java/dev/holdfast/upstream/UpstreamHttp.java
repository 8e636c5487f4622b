package dev.holdfast.upstream;

import dev.holdfast.client.wire.HttpSender;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import javax.net.ssl.SSLContext;

/**
 * By which HTTP client an upstream is reached. But for {@link #jdk(HttpClient)}, each backend has a client of its own with one pool of
 * connections, which is limited by the engine's limits on sessions and calls only; a connection has 10 s to be made, no redirects are
 * followed, and no cookies kept. A proxy is used as the JVM's {@code ProxySelector} says; Jetty's client asks it once, when it starts, and
 * takes HTTP proxies only. Immutable.
 */
public final class UpstreamHttp {
    private final Start start;

    private interface Start {
        Client of(URI server, ScheduledExecutorService clock);
    }

    private UpstreamHttp(Start start) {
        this.start = start;
    }

    /** The JDK's client, which needs no dependency; TLS goes by the trust of the JVM. */
    public static UpstreamHttp jdk() {
        return new UpstreamHttp((server, clock) -> Jdk.start());
    }

    /**
     * A client of the JDK that is the application's: with its trust, certificate, proxy and time to connect. It stays open. A cookie
     * handler that it has keeps the cookies of all sessions together.
     *
     * @throws IllegalArgumentException if it follows redirects: credentials would go along
     */
    public static UpstreamHttp jdk(HttpClient http) {
        if (http.followRedirects() != HttpClient.Redirect.NEVER) {
            throw new IllegalArgumentException(
                    "the client must follow no redirects (Redirect.NEVER), got " + http.followRedirects());
        }
        return new UpstreamHttp((server, clock) -> new Jdk(http, pool()));
    }

    /**
     * Jetty's client, which takes a small part of the processor time that a call costs by the JDK's; TLS goes by the trust of the JVM.
     * Needs {@code org.eclipse.jetty:jetty-client} 12.1 beside this library, on a module path required by the application.
     */
    public static UpstreamHttp jetty() {
        return new UpstreamHttp((server, clock) -> JettyClient.start(server, clock, trustOfTheJvm()));
    }

    /** The same with another trust, or with a certificate of the application's own. */
    public static UpstreamHttp jetty(SSLContext tls) {
        Objects.requireNonNull(tls, "tls");
        return new UpstreamHttp((server, clock) -> JettyClient.start(server, clock, tls));
    }

    private static SSLContext trustOfTheJvm() {
        try {
            return SSLContext.getDefault();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JVM has no TLS", e);
        }
    }

    /** A client for a server, which is running; the clock stays the caller's. */
    Client start(URI server, ScheduledExecutorService clock) {
        try {
            return start.of(server, clock);
        } catch (NoClassDefFoundError e) {
            throw new IllegalStateException("UpstreamHttp.jetty() needs org.eclipse.jetty:jetty-client", e);
        }
    }

    private static ExecutorService pool() {
        return Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, "holdfast-upstream");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** An HTTP client that runs, with one pool of connections. */
    interface Client extends HttpSender, AutoCloseable {
        /** Runs what is due, which does not block. */
        Executor threads();

        /** It is to reach this server too. */
        default void reaches(URI server) {}

        /** Ends what was made for the upstream. */
        @Override
        void close();
    }

    /**
     * The JDK's client. Before JDK 21 it cannot be closed: its connections end with the sessions that use them, or soon after.
     *
     * @param threads of its own; they are for what does not block
     */
    private record Jdk(HttpClient http, ExecutorService threads) implements Client {
        private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

        /** One with the trust and the proxy of the JVM. */
        private static Jdk start() {
            ExecutorService threads = pool();
            HttpClient http = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .followRedirects(HttpClient.Redirect.NEVER)
                    .connectTimeout(CONNECT_TIMEOUT)
                    .executor(threads)
                    .build();
            return new Jdk(http, threads);
        }

        @Override
        public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
            return http.sendAsync(request, answer);
        }

        @Override
        public void close() {
            threads.shutdown();
        }
    }
}
