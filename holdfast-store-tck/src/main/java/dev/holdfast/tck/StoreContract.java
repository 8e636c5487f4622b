package dev.holdfast.tck;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;

/**
 * One part of the contract; what its tests have in common.
 *
 * @param <B> what its tests need of a store
 */
public abstract class StoreContract<B extends StoreBed> {
    /** How long a store may take for one operation in a test. */
    static final Duration PATIENCE = Duration.ofSeconds(30);

    static final Duration LIFE = Duration.ofHours(1);
    static final Epoch FIRST = new Epoch(1, 77);
    static final SessionKey KEY = SessionKey.of("a session", "somebody");
    static final SessionKey OTHER = SessionKey.of("another session", "somebody");
    static final StreamId LISTENING = StreamId.LISTENING;
    static final StreamId CALL = new StreamId(1, 1);

    private final B bed;

    StoreContract(Supplier<? extends B> beds) {
        this.bed = beds.get();
    }

    @AfterEach
    void closeBed() {
        bed.close();
    }

    B bed() {
        return bed;
    }

    SessionStore store() {
        return bed.store();
    }

    /** The value of a stage, once it is there. */
    static <T> T await(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError("the store failed: " + e.getCause(), e.getCause());
        } catch (TimeoutException e) {
            throw new AssertionError("the store did not answer", e);
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }

    /** Why a stage fails, once it has: as the stage says it, or as the cause of what a stage that depends on another says. */
    static Throwable failureOf(CompletionStage<?> stage) {
        Optional<Throwable> failure = await(stage.handle((done, broken) -> Optional.ofNullable(broken)));
        return failure.map(broken ->
                        broken instanceof CompletionException && broken.getCause() != null ? broken.getCause() : broken)
                .orElseThrow(() -> new AssertionError("the store did what it must refuse"));
    }

    /** A stage fails with such an exception. */
    static void assertFails(Class<? extends Throwable> why, CompletionStage<?> stage) {
        assertThat(failureOf(stage)).isInstanceOf(why);
    }

    SessionRecord record() {
        return record(SessionRecord.SESSION, Map.of(SessionRecord.INITIALIZE, bytes("initialize")));
    }

    SessionRecord record(String kind, Map<String, byte[]> journal) {
        long expiresAt = bed.millis() + LIFE.toMillis();
        return new SessionRecord(
                1, kind, "somebody", expiresAt, SessionRecord.NO_EXTENSION, "2025-11-25", journal, Map.of());
    }

    void create() {
        create(KEY);
    }

    void create(SessionKey key) {
        await(store().create(key, FIRST, record()));
    }

    void append(Event... events) {
        await(store().append(KEY, FIRST, new Append(Arrays.asList(events), List.of(), List.of())));
    }

    void change(RecordChange... changes) {
        await(store().append(KEY, FIRST, new Append(List.of(), Arrays.asList(changes), List.of())));
    }

    void trim(StreamId stream, long... offsets) {
        List<Append.Trim> trims = Arrays.stream(offsets)
                .mapToObj(offset -> new Append.Trim(stream, offset))
                .toList();
        await(store().append(KEY, FIRST, new Append(List.of(), List.of(), trims)));
    }

    Optional<SessionStore.Claim> lookFor(SessionKey key) {
        return await(store().claim(key, 5));
    }

    SessionStore.Claim claim() {
        return lookFor(KEY).orElseThrow(() -> new AssertionError("the store has no such session"));
    }

    List<Event> read(StreamId stream) {
        return await(store().read(KEY, stream, 0, Integer.MAX_VALUE));
    }

    static Append only(Event event) {
        return new Append(List.of(event), List.of(), List.of());
    }

    static Event event(StreamId stream, long offset) {
        return event(stream, FIRST, offset);
    }

    static Event event(StreamId stream, Epoch epoch, long offset) {
        return new Event(stream, epoch, offset, EventKind.NOTIFICATION, null, bytes(stream.number() + " @" + offset));
    }

    static Event response(StreamId stream, long offset, String id) {
        return new Event(stream, FIRST, offset, EventKind.RESPONSE, new RequestId(id), bytes("result " + id));
    }

    static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    /** Events in the words of a test. */
    static List<String> told(List<Event> events) {
        return events.stream()
                .map(event -> event.offset() + ": " + new String(event.bytes(), UTF_8))
                .toList();
    }

    static void assertSame(Event found, Event appended) {
        assertThat(found).usingRecursiveComparison().isEqualTo(appended);
    }
}
