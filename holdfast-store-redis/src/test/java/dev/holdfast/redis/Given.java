package dev.holdfast.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.fail;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** The session that these tests use, and how they wait. */
final class Given {
    static final Duration PATIENCE = Duration.ofSeconds(20);
    static final SessionKey KEY = SessionKey.of("a session", "somebody");
    static final Epoch FIRST = new Epoch(1, 77);
    static final StreamId CALL = new StreamId(1, 1);

    private Given() {}

    static SessionRecord record() {
        return new SessionRecord(
                1,
                SessionRecord.SESSION,
                "somebody",
                System.currentTimeMillis() + Duration.ofHours(1).toMillis(),
                SessionRecord.NO_EXTENSION,
                "2025-11-25",
                Map.of(SessionRecord.INITIALIZE, "{}".getBytes(UTF_8)),
                Map.of());
    }

    static Event unplaced(Epoch epoch, String text) {
        return new Event(StreamId.LISTENING, epoch, Event.UNPLACED, EventKind.NOTIFICATION, null, text.getBytes(UTF_8));
    }

    static Append all(Event... events) {
        return new Append(List.of(events), List.of(), List.of());
    }

    static <T> T await(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError("the store failed: " + e.getCause(), e.getCause());
        } catch (TimeoutException e) {
            throw new AssertionError("the store did not answer", e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static Throwable failureOf(CompletionStage<?> stage) {
        Optional<Throwable> failure = await(stage.handle((done, broken) -> Optional.ofNullable(broken)));
        return failure.orElseThrow(() -> new AssertionError("the store did what it must refuse"));
    }

    static boolean succeeds(CompletionStage<?> stage) {
        return await(stage.handle((done, failure) -> failure == null));
    }

    static void until(String what, BooleanSupplier isSo) {
        until(what, PATIENCE, isSo);
    }

    static void until(String what, Duration patience, BooleanSupplier isSo) {
        long deadline = System.nanoTime() + patience.toNanos();
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                fail("not in time: " + what);
            }
            LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
        }
    }

    static List<String> texts(SharedSessionStore store) {
        return await(store.read(KEY, StreamId.LISTENING, 0, Integer.MAX_VALUE)).stream()
                .map(event -> new String(event.bytes(), UTF_8))
                .toList();
    }
}
