package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.unplaced;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a session and an event take of Redis' memory, and a commit of its time; docs/stores.md says these figures. */
class SizingTest {
    private static final int SESSIONS = 5_000;
    private static final int MESSAGE_BYTES = 300;
    private static final long MOST_FOR_A_SESSION = 1_800;
    private static final long MOST_BESIDE_AN_EVENT = 200;
    private static final long MOST_FOR_COUNTING = 200;
    private static final Pattern MEMORY = Pattern.compile("(?m)^used_memory:(\\d+)");
    private static final Pattern SCRIPTS =
            Pattern.compile("cmdstat_evalsha:calls=\\d+,usec=\\d+,usec_per_call=([\\d.]+)");

    private RedisServer server;
    private RedisStore store;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        store = RedisStore.builder(server.url()).timeout(Given.PATIENCE).open();
    }

    @AfterEach
    void stop() {
        store.close();
        server.close();
    }

    private static SessionKey key(int i) {
        return SessionKey.of("session " + i, "somebody");
    }

    /** As an SDK client opens one: initialize with capabilities and client info, a level, a second message. */
    private static SessionRecord record() {
        Map<String, byte[]> journal = new LinkedHashMap<>();
        journal.put(SessionRecord.INITIALIZE, "x".repeat(MESSAGE_BYTES).getBytes(UTF_8));
        journal.put("notifications/initialized", "x".repeat(54).getBytes(UTF_8));
        journal.put("logging/setLevel", "x".repeat(80).getBytes(UTF_8));
        SessionRecord plain = Given.record();
        return new SessionRecord(
                1, SessionRecord.SESSION, "somebody", plain.expiresAt(), new byte[60], "2025-11-25", journal, Map.of());
    }

    private void all(IntFunction<CompletionStage<?>> work) {
        List<CompletionStage<?>> stages =
                IntStream.range(0, SESSIONS).<CompletionStage<?>>mapToObj(work).toList();
        stages.forEach(Given::await);
    }

    private long memory() {
        Matcher found = MEMORY.matcher(server.command("INFO", "memory"));
        assertThat(found.find()).isTrue();
        return Long.parseLong(found.group(1));
    }

    @Test
    void aSessionAndAnEventAreSmall() {
        await(store.create(SessionKey.of("the first", ""), FIRST, record(), "node-1"));
        long empty = memory();
        all(i -> store.create(key(i), FIRST, record(), "node-0123456789abcdef"));
        long sessions = memory();
        all(i -> store.commit(key(i), FIRST, 1, Given.all(unplaced(FIRST, "x".repeat(MESSAGE_BYTES)))));
        long first = memory();
        all(i -> store.commit(
                key(i),
                FIRST,
                2,
                Given.all(IntStream.range(0, 10)
                        .mapToObj(one -> unplaced(FIRST, "x".repeat(MESSAGE_BYTES)))
                        .toArray(Event[]::new))));
        long more = memory();
        server.command("CONFIG", "RESETSTAT");
        all(i -> store.commit(
                key(i),
                FIRST,
                3,
                new Append(
                        List.of(unplaced(FIRST, "x".repeat(MESSAGE_BYTES))),
                        List.of(new RecordChange.Expires(System.currentTimeMillis() + 3_600_000)),
                        List.of())));
        Matcher scripts = SCRIPTS.matcher(server.command("INFO", "commandstats"));
        assertThat(scripts.find()).isTrue();
        long uncounted = memory();
        all(i -> store.count("somebody", key(i), System.currentTimeMillis() + 3_600_000, SESSIONS));
        long counted = (memory() - uncounted) / SESSIONS;

        long session = (sessions - empty) / SESSIONS;
        long firstEvent = (first - sessions) / SESSIONS - MESSAGE_BYTES;
        long event = (more - first) / (10 * SESSIONS) - MESSAGE_BYTES;
        System.out.printf(
                "Redis: %d bytes for a session, %d for counting it, %d for its first event and %d for another one beside"
                        + " the message, %s microseconds for a commit%n",
                session, counted, firstEvent, event, scripts.group(1));
        assertThat(session).isLessThan(MOST_FOR_A_SESSION);
        assertThat(event).isLessThan(MOST_BESIDE_AN_EVENT);
        assertThat(counted).isLessThan(MOST_FOR_COUNTING);
    }
}
