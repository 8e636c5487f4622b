package dev.holdfast.upstream;

import dev.holdfast.client.wire.HttpSender;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The JDK's client. Before JDK 21 it cannot be closed: its connections end with the sessions that use them, or soon after.
 *
 * @param threads of its own; they are for what does not block
 */
record JdkClient(HttpClient http, ExecutorService threads) implements UpstreamClient {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

    /** One with the trust and the proxy of the JVM. */
    static JdkClient start() {
        ExecutorService threads = pool();
        HttpClient http = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(CONNECT_TIMEOUT)
                .executor(threads)
                .build();
        return new JdkClient(http, threads);
    }

    /** One that somebody else has made, and keeps. */
    static JdkClient on(HttpClient http) {
        return new JdkClient(http, pool());
    }

    private static ExecutorService pool() {
        return Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, "holdfast-upstream");
            thread.setDaemon(true);
            return thread;
        });
    }

    @Override
    public HttpSender sender() {
        return HttpSender.by(http);
    }

    @Override
    public void close() {
        threads.shutdown();
    }
}
