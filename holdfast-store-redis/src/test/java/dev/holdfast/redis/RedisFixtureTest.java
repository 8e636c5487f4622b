package dev.holdfast.redis;

import static dev.holdfast.redis.Given.CALL;
import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.unplaced;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.SharedSessionStore;
import dev.holdfast.cluster.SharedSessionStore.Appended;
import dev.holdfast.cluster.SharedSessionStore.Joined;
import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionRecord.RunningCall;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.StreamId;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the first version with a store in Redis has written there is used for ever after. It is kept as {@code redis-1.rdb}, a snapshot
 * of Redis 6.2; a new format gets a file of its own beside it, written by {@link #main}. The server that loads it has another
 * replication history than the one that has written it, so that a possible gap is told.
 */
class RedisFixtureTest {
    private static final StreamId ENDED = new StreamId(1, 2);
    private static final Epoch SECOND = new Epoch(2, 5);

    private static RedisStoreBuilder builder(RedisServer server) {
        return RedisStore.builder(server.url()).timeout(Given.PATIENCE);
    }

    private static Event event(StreamId stream, long offset, byte kind, @Nullable RequestId id) {
        return new Event(stream, FIRST, offset, kind, id, ("event " + offset).getBytes(UTF_8));
    }

    @Test
    void whatTheFirstVersionHasWrittenIsThereAndGoesOn(@TempDir Path folder) throws Exception {
        try (InputStream snapshot = RedisFixtureTest.class.getResourceAsStream("/redis-1.rdb")) {
            Files.copy(Objects.requireNonNull(snapshot), folder.resolve("dump.rdb"));
        }
        try (RedisServer server = RedisServer.start("--dir", folder.toString());
                RedisStore store = builder(server).open()) {
            assertThat(await(store.members(KEY))).containsExactly(new Member(FIRST, "one"), new Member(SECOND, "two"));
            assertThat(Given.texts(store)).containsExactly("b", "c");
            assertThat(await(store.read(KEY, CALL, 0, 1000)))
                    .usingRecursiveComparison()
                    .isEqualTo(List.of(event(CALL, 1, EventKind.PROGRESS, null)));

            Joined joined = await(store.join(KEY, 6, "three")).orElseThrow();
            SessionRecord record = joined.claim().record();
            assertThat(record.version()).isOne();
            assertThat(record.kind()).isEqualTo(SessionRecord.LISTENING_SESSION);
            assertThat(record.principal()).isEqualTo("somebody");
            assertThat(record.expiresAt()).isEqualTo(Long.MAX_VALUE);
            assertThat(record.extension()).isEqualTo("beside".getBytes(UTF_8));
            assertThat(record.revision()).isEqualTo("2025-06-18");
            assertThat(record.journal().keySet()).containsExactly("initialize", "level");
            assertThat(record.running())
                    .usingRecursiveComparison()
                    .isEqualTo(Map.of(
                            CALL,
                            new RunningCall(
                                    List.of(new RequestId("1"), new RequestId("\"a\"")), "again".getBytes(UTF_8))));
            assertThat(joined.version()).isEqualTo(2);
            assertThat(joined.claim().before()).containsExactly(FIRST, SECOND);
            long behind = 3 + SessionStore.LEFT_OUT;
            assertThat(joined.claim().streams())
                    .isEqualTo(Map.of(
                            StreamId.LISTENING,
                            new Extent(behind, behind),
                            CALL,
                            new Extent(1, 0),
                            ENDED,
                            new Extent(1, 1)));
            assertThat(joined.claim().certainFrom())
                    .isEqualTo(joined.claim().epoch().counter());

            assertThat(await(store.token(KEY, FIRST, CALL, Part.READER, 0, 8))).isEqualTo(7);
            assertThat(await(store.count("alice", Given.KEY, 1, 1)).counts()).isTrue();
            assertThat(await(store.commit(KEY, FIRST, 2, all(unplaced(FIRST, "again")))))
                    .as("sent again")
                    .isEqualTo(new Appended(3, 2));
            assertThat(await(store.commit(KEY, FIRST, 3, all(unplaced(FIRST, "d")))))
                    .isEqualTo(new Appended(behind + 1, 2));
            assertThat(Given.texts(store)).containsExactly("b", "c", "d");
        }
    }

    /** Writes the fixture of the present version. */
    public static void main(String[] args) throws Exception {
        try (RedisServer server = RedisServer.start();
                RedisStore store = builder(server).open()) {
            SessionRecord record = new SessionRecord(
                    1,
                    SessionRecord.LISTENING_SESSION,
                    "somebody",
                    Long.MAX_VALUE,
                    SessionRecord.NO_EXTENSION,
                    "",
                    Map.of(),
                    Map.of());
            await(store.create(KEY, FIRST, record, "one"));
            await(store.join(KEY, SECOND.nonce(), "two"));
            List<Event> events = List.of(
                    unplaced(FIRST, "a"),
                    event(CALL, 1, EventKind.PROGRESS, null),
                    unplaced(FIRST, "b"),
                    event(ENDED, 1, EventKind.RESPONSE, new RequestId("2")),
                    unplaced(FIRST, "c"));
            List<RecordChange> changes = List.of(
                    new RecordChange.Negotiated("2025-06-18", "{}".getBytes(UTF_8)),
                    new RecordChange.CallStarted(
                            CALL, List.of(new RequestId("1"), new RequestId("\"a\"")), "again".getBytes(UTF_8)),
                    new RecordChange.CallStarted(ENDED, List.of(new RequestId("2"))),
                    new RecordChange.Extended("beside".getBytes(UTF_8)),
                    new RecordChange.CallEnded(ENDED));
            await(store.commit(KEY, FIRST, 1, new Append(events, changes, List.of())));
            await(store.commit(
                    KEY,
                    FIRST,
                    2,
                    new Append(
                            List.of(),
                            List.of(new RecordChange.JournalPut("level", "{}".getBytes(UTF_8))),
                            List.of(new Append.Trim(StreamId.LISTENING, 1)))));
            await(store.token(KEY, FIRST, CALL, Part.READER, SharedSessionStore.NO_TOKEN, 7));
            await(store.count("alice", KEY, Long.MAX_VALUE, 1));
            // as an eviction does: the response is lost, and its stream is known by the record
            byte[] name = RedisCodec.events(RedisCodec.record("holdfast:", KEY));
            server.command(
                    "ZREMRANGEBYLEX",
                    new String(name, UTF_8),
                    "[\0\0\0\1\0\0\0\0\0\0\0\2",
                    "[\0\0\0\1\0\0\0\0\0\0\0\3");
            server.command("SAVE");
            Files.move(server.folder().resolve("dump.rdb"), Path.of(args[0]), StandardCopyOption.REPLACE_EXISTING);
        }
    }
}
