package dev.holdfast.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.tck.MemoryCluster;
import dev.holdfast.tck.MemoryStore;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TimedStoreTest {
    private static final SessionKey KEY = SessionKey.of("session", "ann");
    private static final SessionStore.Promise PROMISE =
            new SessionStore.Promise(SessionStore.Durability.NOTHING, false);
    private static final Append NOTHING = new Append(List.of(), List.of(), List.of());

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final CompletableFuture<Void> appending = new CompletableFuture<>();
    /** Answers everything with a stage that the test completes. */
    private final SessionStore slow = (SessionStore) Proxy.newProxyInstance(
            SessionStore.class.getClassLoader(),
            new Class<?>[] {SessionStore.class},
            (proxy, method, arguments) -> method.getName().equals("promise") ? PROMISE : appending);

    private Timer timer(String operation, String outcome) {
        return registry.get("holdfast.store.operations")
                .tags("operation", operation, "outcome", outcome)
                .timer();
    }

    /** A method with a default, which a later version may add, would else not reach the store. */
    @Test
    void everyMethodOfAStoreIsPassedOn() {
        assertThat(Arrays.stream(SessionStore.class.getMethods()).map(TimedStoreTest::signature))
                .isSubsetOf(Arrays.stream(TimedStore.class.getDeclaredMethods())
                        .map(TimedStoreTest::signature)
                        .toList());
    }

    @Test
    void everyMethodOfASharedStoreIsPassedOn() {
        assertThat(Arrays.stream(SharedSessionStore.class.getMethods()).map(TimedStoreTest::signature))
                .isSubsetOf(Stream.of(TimedStore.class, TimedStore.Shared.class)
                        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                        .map(TimedStoreTest::signature)
                        .toList());
    }

    @Test
    void aSharedStoreStaysShared() {
        try (MemoryCluster cluster = new MemoryCluster()) {
            SessionStore timed = new HoldfastMetrics(registry).timed(cluster);
            assertThat(timed).isInstanceOf(SharedSessionStore.class);
            SharedSessionStore shared = (SharedSessionStore) timed;
            SessionRecord record = new SessionRecord(
                    1, SessionRecord.SESSION, "ann", Long.MAX_VALUE, new byte[0], "2025-11-25", Map.of(), Map.of());

            shared.create(KEY, new Epoch(1, 7), record, "node")
                    .toCompletableFuture()
                    .join();
            shared.join(KEY, 8, "other").toCompletableFuture().join();
            shared.commit(KEY, new Epoch(1, 7), 1, NOTHING)
                    .toCompletableFuture()
                    .join();
            shared.fence(KEY, new Epoch(2, 8)).toCompletableFuture().join();

            assertThat(shared.bus()).isSameAs(cluster.bus());
            for (String operation : List.of("create", "claim", "append", "fence")) {
                assertThat(timer(operation, "done").count()).as(operation).isEqualTo(1);
            }
        }
    }

    private static String signature(Method method) {
        return method.getName() + Arrays.toString(method.getParameterTypes());
    }

    @Test
    void whatIsDoneAtOnceIsMeasuredAndNothingIsPutAround() {
        MemoryStore store = new MemoryStore();
        SessionStore timed = new HoldfastMetrics(registry).timed(store);
        SessionRecord record = new SessionRecord(
                1, SessionRecord.SESSION, "ann", Long.MAX_VALUE, new byte[0], "2025-11-25", Map.of(), Map.of());

        timed.create(KEY, new Epoch(1, 7), record).toCompletableFuture().join();
        timed.claim(KEY, 8).toCompletableFuture().join();
        timed.delete(KEY).toCompletableFuture().join();

        assertThat(timed.promise()).isEqualTo(store.promise());
        assertThat(timer("create", "done").count()).isEqualTo(1);
        assertThat(timer("claim", "done").count()).isEqualTo(1);
        assertThat(timer("delete", "done").count()).isEqualTo(1);
        assertThat(timer("create", "failed").count()).isZero();
    }

    @Test
    void whatTakesItsTimeIsMeasuredToItsEnd() {
        SessionStore timed = new HoldfastMetrics(registry).timed(slow);

        assertThat(timed.append(KEY, new Epoch(1, 7), NOTHING)).isSameAs(appending);
        assertThat(timer("append", "done").count()).isZero();
        appending.complete(null);

        assertThat(timer("append", "done").count()).isEqualTo(1);
        assertThat(timer("append", "done").totalTime(TimeUnit.NANOSECONDS)).isPositive();
    }

    @Test
    void failuresAreCountedByWhatWasAsked() {
        SessionStore timed = new HoldfastMetrics(registry).timed(slow);
        CompletionStage<Void> append = timed.append(KEY, new Epoch(1, 7), NOTHING);
        appending.completeExceptionally(new UncheckedIOException(new IOException("the disk is full")));

        assertThatThrownBy(() -> append.toCompletableFuture().join()).hasRootCauseMessage("the disk is full");
        assertThat(timer("append", "failed").count()).isEqualTo(1);
    }

    @Test
    void whatAStoreRefusesIsNoFailureOfIt() {
        SessionStore timed = new HoldfastMetrics(registry).timed(new MemoryStore());
        SessionRecord record = new SessionRecord(
                1, SessionRecord.SESSION, "ann", Long.MAX_VALUE, new byte[0], "2025-11-25", Map.of(), Map.of());

        assertThat(timed.append(KEY, new Epoch(1, 7), NOTHING)).isCompletedExceptionally();
        timed.create(KEY, new Epoch(1, 7), record).toCompletableFuture().join();
        assertThat(timed.create(KEY, new Epoch(1, 8), record)).isCompletedExceptionally();
        assertThat(timed.append(KEY, new Epoch(1, 8), NOTHING)).isCompletedExceptionally();

        assertThat(timer("append", "refused").count()).isEqualTo(2);
        assertThat(timer("create", "refused").count()).isEqualTo(1);
        assertThat(timer("append", "failed").count()).isZero();
        assertThat(timer("create", "failed").count()).isZero();
    }
}
