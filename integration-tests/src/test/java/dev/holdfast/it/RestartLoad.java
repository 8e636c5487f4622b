package dev.holdfast.it;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Callers of a server that is started again under them: each calls its tool again as soon as its last call has ended. */
final class RestartLoad {
    private static final Duration SOON = Duration.ofSeconds(100);

    private final CutClients client;
    private final List<Caller> callers = new ArrayList<>();
    private final List<Ended> ended = new CopyOnWriteArrayList<>();
    private final AtomicInteger number = new AtomicInteger();
    private volatile boolean over;

    /** A call that has its result, or what came in the place of it. */
    record Ended(
            String tool,
            String name,
            Duration took,
            @Nullable Throwable failure) {
        /** What has come, in one word. */
        String what() {
            return failure == null ? "result" : failure.getClass().getSimpleName();
        }
    }

    private final class Caller {
        private final String tool;
        private final AtomicInteger results = new AtomicInteger();
        private final CompletableFuture<Void> done;

        private Caller(String tool) {
            this.tool = tool;
            this.done = call();
        }

        private CompletableFuture<Void> call() {
            if (over) {
                return CompletableFuture.completedFuture(null);
            }
            String name = tool + "-" + number.incrementAndGet();
            long begun = System.nanoTime();
            return client.call(tool, name)
                    .handleAsync((text, failure) -> {
                        ended.add(
                                new Ended(tool, name, Duration.ofNanos(System.nanoTime() - begun), unwrapped(failure)));
                        if (failure == null) {
                            assertThat(text).isEqualTo(name);
                            results.incrementAndGet();
                        }
                        return name;
                    })
                    .thenCompose(last -> call());
        }
    }

    /** Begins to call these tools, each by so many callers. */
    RestartLoad(CutClients client, Map<String, Integer> tools) {
        this.client = client;
        tools.forEach((tool, atOnce) ->
                Stream.generate(() -> tool).limit(atOnce).map(Caller::new).forEach(callers::add));
    }

    private static @Nullable Throwable unwrapped(@Nullable Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    /** Waits until each caller has so many more results. */
    void awaitResults(int more) {
        List<Integer> before =
                callers.stream().map(caller -> caller.results.get()).toList();
        await().atMost(SOON)
                .until(() -> IntStream.range(0, callers.size())
                        .allMatch(i -> callers.get(i).results.get() >= before.get(i) + more));
    }

    /** Makes no more calls, and waits for those that run: all there were. */
    List<Ended> end(String what) throws Exception {
        over = true;
        for (Caller caller : callers) {
            caller.done.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }
        assertThat(ended).hasSize(number.get());
        System.out.printf(
                "%s: %s, the longest call %s ms%n", what, counts(), longest().toMillis());
        return ended;
    }

    /** The time of the call that took the longest. */
    Duration longest() {
        return ended.stream().map(Ended::took).max(Duration::compareTo).orElseThrow();
    }

    private String counts() {
        return ended.stream()
                .collect(groupingBy(Ended::tool, TreeMap::new, groupingBy(Ended::what, TreeMap::new, counting())))
                .toString();
    }
}
