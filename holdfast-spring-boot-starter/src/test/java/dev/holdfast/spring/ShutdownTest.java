package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.mcp.HoldfastTransportProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.ConfigurableApplicationContext;

/** The end of an application with clients. */
@Timeout(120)
class ShutdownTest {
    private static final int LISTENERS = 50;
    private static final int CALLS = 10;

    @Test
    void everyCallFinishesAndNoListenerHoldsTheEndBack() throws Exception {
        ConfigurableApplicationContext application = Applications.start(AiApplication.class);
        int port = Applications.port(application);
        HoldfastTransportProvider transport = application.getBean(HoldfastTransportProvider.class);
        ExecutorService clients = Executors.newCachedThreadPool();
        List<CompletableFuture<Void>> listeners = new ArrayList<>();
        for (int i = 0; i < LISTENERS; i++) {
            Wire client = Wire.open(port, "/mcp");
            listeners.add(CompletableFuture.runAsync(() -> drain(client), clients));
        }
        await().atMost(Duration.ofSeconds(20)).until(() -> transport.openConnections() >= LISTENERS);
        List<Wire> callers = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            callers.add(Wire.open(port, "/mcp"));
        }
        List<CompletableFuture<String>> calls = new ArrayList<>();
        for (Wire client : callers) {
            calls.add(CompletableFuture.supplyAsync(() -> slow(client), clients));
        }
        await().atMost(Duration.ofSeconds(20))
                .until(() -> transport.openConnections() >= LISTENERS
                        && transport.engine().stats().runningCalls() == CALLS);

        long begin = System.nanoTime();
        application.close();
        Duration took = Duration.ofNanos(System.nanoTime() - begin);

        for (CompletableFuture<String> call : calls) {
            assertThat(call.get(10, TimeUnit.SECONDS)).contains("slept 6000");
        }
        for (CompletableFuture<Void> listener : listeners) {
            listener.get(10, TimeUnit.SECONDS);
        }
        clients.shutdown();
        assertThat(took).isLessThan(Duration.ofSeconds(25));
    }

    private static void drain(Wire client) {
        try {
            assertThat(client.listen().body().toList()).last().asString().isEmpty();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static String slow(Wire client) {
        try {
            return client.call("slow", "{\"millis\":6000}");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
