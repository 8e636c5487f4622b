package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StreamId;
import dev.holdfast.tck.MemoryCluster;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever is committed, what is then kept in Redis is what a store in memory keeps. */
@Timeout(60)
class RedisModelTest {
    private static final int COMMITS = 100;
    private static final int STREAMS = 4;
    /** More fields than one command inside a script may change. */
    private static final int MANY = 700;

    private static RedisServer server;

    private final Map<StreamId, Long> last = new HashMap<>();

    @BeforeAll
    static void start() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void everyCommitLeavesWhatTheModelHas(long seed) {
        Random random = new Random(seed);
        SessionKey key = SessionKey.of("model " + seed, "somebody");
        SessionRecord record = Given.record();
        try (RedisStore store =
                        RedisStore.builder(server.url()).timeout(Given.PATIENCE).open();
                SharedSessionStore model = new MemoryCluster()) {
            await(store.create(key, FIRST, record, "node"));
            await(model.create(key, FIRST, record, "node"));
            for (int number = 1; number <= COMMITS; number++) {
                Append append = number == COMMITS / 2 ? large() : some(random);
                String what = "commit " + number + ": " + append;
                assertThat(await(store.commit(key, FIRST, number, append)))
                        .as(what)
                        .isEqualTo(await(model.commit(key, FIRST, number, append)));
                assertThat(kept(store, key)).as(what).isEqualTo(kept(model, key));
            }
        }
    }

    /** The set of events is new with this commit, which forgets those of one stream at once. */
    @Test
    void whatIsKeptHasItsTimeThoughACommitForgetsItsOwnEvents() {
        SessionKey key = SessionKey.of("own trims", "somebody");
        try (RedisStore store =
                RedisStore.builder(server.url()).timeout(Given.PATIENCE).open()) {
            await(store.create(key, FIRST, Given.record(), "node"));
            List<Event> events = List.of(placed(1), placed(2), Given.unplaced(FIRST, "kept"));
            List<Append.Trim> trims = List.of(new Append.Trim(Given.CALL, 1), new Append.Trim(Given.CALL, 2));
            await(store.commit(key, FIRST, 1, new Append(events, List.of(), trims)));

            byte[] name = RedisCodec.events(RedisCodec.record("holdfast:", key));
            assertThat(Long.parseLong(server.command("PTTL", text(name)))).isPositive();
        }
    }

    private static Event placed(long offset) {
        return new Event(Given.CALL, FIRST, offset, EventKind.PROGRESS, null, new byte[] {'x'});
    }

    private static StreamId stream(int number) {
        return number == 0 ? StreamId.LISTENING : new StreamId(1, number);
    }

    private Append some(Random random) {
        // of earlier commits only
        List<Append.Trim> trims = new ArrayList<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            StreamId stream = stream(random.nextInt(STREAMS));
            long known = last.getOrDefault(stream, 0L);
            if (known > 0) {
                trims.add(new Append.Trim(stream, known - random.nextInt((int) Math.min(known, 3))));
            }
        }
        List<Event> events = new ArrayList<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            events.add(event(stream(random.nextInt(STREAMS)), random));
        }
        List<RecordChange> changes = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            RecordChange change = change(random);
            // a call does not begin on a stream that has come to its end
            boolean late = change instanceof RecordChange.CallStarted started
                    && trims.stream().anyMatch(trim -> trim.stream().equals(started.stream()));
            if (!late) {
                changes.add(change);
            }
        }
        return new Append(events, changes, trims);
    }

    private Event event(StreamId stream, Random random) {
        long next = last.merge(stream, 1L, Long::sum);
        boolean listening = stream.equals(StreamId.LISTENING);
        return new Event(
                stream,
                FIRST,
                listening ? Event.UNPLACED : next,
                EventKind.NOTIFICATION,
                null,
                ("event " + random.nextInt()).getBytes(UTF_8));
    }

    private static RecordChange change(Random random) {
        // not the listening stream: no call has its name
        StreamId call = stream(1 + random.nextInt(STREAMS - 1));
        String entry = "key " + random.nextInt(3);
        byte[] bytes = ("bytes " + random.nextInt()).getBytes(UTF_8);
        return switch (random.nextInt(7)) {
            case 0 -> new RecordChange.CallStarted(call, List.of(new RequestId("1"), new RequestId("\"a\"")), bytes);
            case 1, 2 -> new RecordChange.CallEnded(call);
            case 3 -> new RecordChange.JournalPut(entry, bytes);
            case 4 -> new RecordChange.JournalRemoved(entry);
            case 5 -> new RecordChange.Expires(System.currentTimeMillis() + 3_600_000 + random.nextInt(1000));
            default -> new RecordChange.Extended(bytes);
        };
    }

    private static Append large() {
        List<RecordChange> changes = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            changes.add(new RecordChange.JournalPut("large " + i, new byte[] {(byte) i}));
            changes.add(new RecordChange.CallEnded(new StreamId(2, i + 1)));
        }
        return new Append(List.of(), changes, List.of());
    }

    private static Map<String, String> kept(SharedSessionStore store, SessionKey key) {
        Look look = await(store.look(key)).orElseThrow();
        SessionRecord record = look.record();
        Map<String, String> kept = new TreeMap<>();
        kept.put("epoch", look.epoch().toString());
        kept.put("expires", Long.toString(record.expiresAt()));
        kept.put("extension", text(record.extension()));
        kept.put("revision", record.revision());
        record.journal().forEach((entry, message) -> kept.put("journal " + entry, text(message)));
        record.running()
                .forEach((stream, call) -> kept.put("running " + stream, call.requests() + text(call.extension())));
        look.streams().forEach((stream, extent) -> kept.put("extent " + stream, extent.toString()));
        for (int number = 0; number < STREAMS; number++) {
            StreamId stream = stream(number);
            for (Event event : await(store.read(key, stream, 0, Integer.MAX_VALUE))) {
                kept.put("event " + stream + event.offset(), text(event.bytes()));
            }
        }
        return kept;
    }

    private static String text(byte[] bytes) {
        return new String(bytes, UTF_8);
    }
}
