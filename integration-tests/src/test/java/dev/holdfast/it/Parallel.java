package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

/** Many clients that do the same at the same time. */
final class Parallel {
    private Parallel() {}

    /** What one of many clients does. */
    interface Client {
        void run(int number) throws Exception;
    }

    /** Does something so many times, each on a thread of its own, and passes on what fails. */
    static void times(int count, IntConsumer client) throws Exception {
        times(count, Duration.ofSeconds(100), client::accept);
    }

    /** The same for clients that take longer. */
    static void times(int count, Duration patience, Client client) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try {
            List<Future<?>> clients = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int number = i;
                clients.add(threads.submit(() -> {
                    client.run(number);
                    return number;
                }));
            }
            for (Future<?> each : clients) {
                each.get(patience.toSeconds(), TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
            assertThat(threads.awaitTermination(5, TimeUnit.SECONDS)).isTrue();
        }
    }

    /** Lets time pass. */
    static void pass(Duration time) {
        long since = System.nanoTime();
        await().pollDelay(time)
                .pollInterval(Duration.ofMillis(1))
                .until(() -> System.nanoTime() - since >= time.toNanos());
    }
}
