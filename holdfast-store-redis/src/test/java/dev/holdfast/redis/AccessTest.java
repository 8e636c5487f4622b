package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.unplaced;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who may use Redis, over what, and where in it the store is. */
@Tag("jdk")
class AccessTest {
    private static final String PASSWORD = "s3cret-of-the-test";

    /** What docs/stores.md says a user needs. */
    private static final String USER = "--user worker on >" + PASSWORD
            + " ~svc:* resetchannels &svc:* -@all +@hash +@sortedset +@stream +@keyspace +@scripting"
            + " +@pubsub +@connection +time +info";

    private static void useAll(RedisStore store) {
        await(store.create(KEY, FIRST, Given.record(), "node"));
        AtomicInteger heard = new AtomicInteger();
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        try (var tail = store.tail(KEY, heard::incrementAndGet);
                var inbox = store.bus().receive("node", message -> heard.addAndGet(1000))) {
            assertThat(tail).isNotNull();
            assertThat(inbox).isNotNull();
            AtomicInteger number = new AtomicInteger();
            until("hints come", () -> {
                int next = number.incrementAndGet();
                await(store.commit(KEY, FIRST, next, all(unplaced(FIRST, "event"))));
                return heard.get() > 1;
            });
            assertThat(await(store.bus().send("node", new byte[] {1}))).isTrue();
            until("the message comes", () -> heard.get() >= 1000);
        }
        assertThat(Given.texts(store)).isNotEmpty();
        assertThat(await(store.join(KEY, 5, "other"))).isPresent();
        assertThat(await(store.count("somebody", KEY, System.currentTimeMillis() + 60_000, 1))
                        .counts())
                .isTrue();
        await(store.uncount("somebody", KEY));
        assertThat(await(store.bus().living())).containsExactly("node");
        await(store.delete(KEY));
        assertThat(store.trouble()).isEmpty();
    }

    private static RedisStoreBuilder builder(String url) {
        return RedisStore.builder(url).timeout(Given.PATIENCE);
    }

    @Test
    void aUserNeedsTheRightsThatThePageSays() {
        try (RedisServer server = RedisServer.start(USER.split(" "));
                RedisStore store = builder("redis://worker:" + PASSWORD + "@127.0.0.1:" + server.port())
                        .prefix("svc:")
                        .open()) {
            useAll(store);
        }
    }

    @Test
    void credentialsCanBeGivenBesideTheUrl() {
        try (RedisServer server = RedisServer.start(USER.split(" "));
                RedisStore store = builder(server.url())
                        .prefix("svc:")
                        .credentials("worker", PASSWORD.toCharArray())
                        .open()) {
            useAll(store);
        }
    }

    /** Threads of stores that have begun since. */
    private static List<String> threads(Set<Thread> before) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !before.contains(thread))
                .map(Thread::getName)
                .filter(name -> name.startsWith("holdfast-redis"))
                .toList();
    }

    @Test
    void nothingIsLeftOfAStoreThatGetsOneConnectionOnly() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        try (RedisServer server = RedisServer.start()) {
            server.command("CONFIG", "SET", "maxclients", "1");

            assertThatThrownBy(() -> builder(server.url()).open()).isInstanceOf(RedisStoreException.class);

            until("its threads are over", () -> threads(before).isEmpty());
            server.command("CONFIG", "SET", "maxclients", "100");
            try (RedisStore store = builder(server.url()).open()) {
                useAll(store);
            }
        }
    }

    @Test
    void aStoreIsClosedToItsEndByAThreadThatIsInterrupted() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        try (RedisServer server = RedisServer.start()) {
            RedisStore store = builder(server.url()).open();
            Thread.currentThread().interrupt();

            store.close();

            assertThat(Thread.interrupted()).isTrue();
            until("its threads are over", () -> threads(before).isEmpty());
        }
    }

    @Test
    void aRefusedUserIsToldWithoutThePassword() {
        try (RedisServer server = RedisServer.start("--requirepass", "another")) {
            String host = "127.0.0.1:" + server.port();
            assertThatThrownBy(() ->
                            builder("redis://worker:" + PASSWORD + "@" + host).open())
                    .isInstanceOf(RedisStoreException.class)
                    .hasMessageContaining("redis://" + host)
                    .satisfies(failure -> {
                        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
                            assertThat(cause.toString()).doesNotContain(PASSWORD);
                        }
                    });
        }
    }

    @Test
    void anAddressThatIsNoneIsToldWithoutThePassword() {
        for (String url : new String[] {
            "http://worker:" + PASSWORD + "@host",
            "redis://worker:" + PASSWORD + "@host:no",
            "redis:" + PASSWORD,
            "redis-cluster://:" + PASSWORD + "@host/3",
            "redis://worker:p@" + PASSWORD + "@host",
            "redis://worker:12/" + PASSWORD + "@host",
            "redis://worker:12#" + PASSWORD + "@host"
        }) {
            assertThatThrownBy(() -> RedisStore.builder(url))
                    .isInstanceOf(IllegalArgumentException.class)
                    .satisfies(failure -> assertThat(failure.toString()).doesNotContain(PASSWORD));
        }
    }

    @Test
    void whereNobodyListensOpeningFailsInTime() {
        int nobody = FreePort.next();
        long start = System.nanoTime();
        assertThatThrownBy(() -> RedisStore.builder("redis://127.0.0.1:" + nobody)
                        .timeout(Duration.ofSeconds(1))
                        .open())
                .isInstanceOf(RedisStoreException.class)
                .hasMessageContaining("redis://127.0.0.1:" + nobody);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Given.PATIENCE);
    }

    @Test
    void anotherDatabaseAndAnotherPrefixAreOtherStores() {
        try (RedisServer server = RedisServer.start();
                RedisStore here = builder(server.url()).open();
                RedisStore database = builder(server.url() + "/3").open();
                RedisStore prefix = builder(server.url()).prefix("other:").open()) {
            await(here.create(KEY, FIRST, Given.record(), "node"));
            assertThat(await(database.look(KEY))).isEmpty();
            assertThat(await(prefix.look(KEY))).isEmpty();
            assertThat(server.command("KEYS", "*")).startsWith("holdfast:{").endsWith("}");
        }
    }

    @Test
    void sessionsExpireByTheClockOfRedisAndTheirSpaceIsGivenBack() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = builder(server.url()).open()) {
            await(store.create(KEY, FIRST, Given.record(), "node"));
            long soon = System.currentTimeMillis() + 300;
            await(store.commit(KEY, FIRST, 1, all(unplaced(FIRST, "event"))));
            await(store.append(KEY, FIRST, new Append(List.of(), List.of(new RecordChange.Expires(soon)), List.of())));
            until("it is not there", () -> await(store.look(KEY)).isEmpty());
            assertThat(System.currentTimeMillis()).isGreaterThanOrEqualTo(soon);
            for (String key : server.command("KEYS", "*").lines().toList()) {
                assertThat(Long.parseLong(server.command("PTTL", key))).as(key).isBetween(1L, 60_000L);
            }
        }
    }

    @Test
    void sessionsOfAPrincipalCountByTheClockOfRedisAndTheirSpaceIsGivenBack() {
        try (RedisServer server = RedisServer.start();
                RedisStore store = builder(server.url()).open()) {
            SessionKey next = SessionKey.of("the next", "alice");
            long soon = System.currentTimeMillis() + 5_000;
            assertThat(await(store.count("alice", KEY, soon, 1)).counts()).isTrue();
            assertThat(await(store.count("alice", next, soon, 1)).first()).containsExactly(KEY);
            String key = server.command("KEYS", "*");
            assertThat(key).startsWith("holdfast:{principal:").endsWith("}").doesNotContain("alice");
            assertThat(Long.parseLong(server.command("PTTL", key))).isBetween(1L, 65_000L);
            until(
                    "there is room",
                    () -> await(store.count("alice", next, System.currentTimeMillis() + 60_000, 1))
                            .counts());
            assertThat(System.currentTimeMillis()).isGreaterThanOrEqualTo(soon);
            await(store.uncount("alice", next));
            assertThat(server.command("KEYS", "*")).isEmpty();
        }
    }

    @Test
    void overTls(@TempDir Path folder) {
        Certificate certificate = Certificate.make(folder);
        try (RedisServer server = RedisServer.startTls(certificate);
                RedisStore store = builder("rediss://127.0.0.1:" + server.port())
                        .trust(certificate.pem())
                        .open()) {
            useAll(store);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/dev/zero", "/dev", "/no-such-file"})
    void aTrustThatIsNoFileIsRefused(String file) {
        assertThatThrownBy(() -> builder("rediss://127.0.0.1:1").trust(Path.of(file)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("trust must be a file of at most 4 MiB that can be read, got " + file);
    }

    @Test
    void aServerThatNobodyTrustsIsRefused(@TempDir Path folder) {
        Certificate certificate = Certificate.make(folder);
        try (RedisServer server = RedisServer.startTls(certificate)) {
            assertThatThrownBy(
                            () -> builder("rediss://127.0.0.1:" + server.port()).open())
                    .isInstanceOf(RedisStoreException.class)
                    .hasMessageContaining("certification path");
        }
    }
}
