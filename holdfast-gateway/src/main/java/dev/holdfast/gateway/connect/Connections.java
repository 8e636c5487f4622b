package dev.holdfast.gateway.connect;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;

/** With what the bridge reaches its server. */
public final class Connections {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

    private Connections() {}

    /** A client by the proxy and the trust of this JVM. */
    public static HttpClient http() {
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(CONNECT_TIMEOUT)
                .build();
    }

    /** Runs what is due later. */
    public static ScheduledExecutorService clock() {
        ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "holdfast-clock");
            thread.setDaemon(true);
            return thread;
        });
        clock.setRemoveOnCancelPolicy(true);
        return clock;
    }
}
