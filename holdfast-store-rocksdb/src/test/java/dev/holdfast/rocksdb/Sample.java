package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Sessions for tests. */
final class Sample {
    static final Epoch FIRST = new Epoch(1, 77);
    static final SessionKey KEY = key(0);
    /** Between two looks at what a test waits for. */
    static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private Sample() {}

    static SessionKey key(int number) {
        return SessionKey.of("session " + number, "somebody");
    }

    static SessionRecord record(long expiresAt) {
        return new SessionRecord(
                1,
                SessionRecord.SESSION,
                "somebody",
                expiresAt,
                SessionRecord.NO_EXTENSION,
                "2025-11-25",
                Map.of(SessionRecord.INITIALIZE, "{}".getBytes(UTF_8)),
                Map.of());
    }

    static CompletionStage<Void> create(SessionStore store, SessionKey key) {
        return store.create(key, FIRST, record(Long.MAX_VALUE));
    }

    /** Appends bytes of which compression leaves half. */
    static CompletionStage<Void> append(SessionStore store, SessionKey key, long offset, int bytes) {
        byte[] random = new byte[bytes / 2];
        ThreadLocalRandom.current().nextBytes(random);
        byte[] message = Arrays.copyOf(random, bytes);
        Event event = new Event(StreamId.LISTENING, FIRST, offset, EventKind.NOTIFICATION, null, message);
        return store.append(key, FIRST, new Append(List.of(event), List.of(), List.of()));
    }

    static <T> T await(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    }
}
