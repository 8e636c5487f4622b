package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.failureOf;
import static dev.holdfast.redis.Given.succeeds;
import static dev.holdfast.redis.Given.unplaced;
import static dev.holdfast.redis.Given.until;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.UnreadableSessionException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Redis answers, and takes no writes. */
class RefusalsTest {
    @AutoClose
    private final LogLines log = new LogLines(Refusals.class);

    private final List<String> lines = log.all();

    private RedisServer server;
    private RedisStore store;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        store = RedisStore.builder(server.url()).timeout(Given.PATIENCE).open();
        await(store.create(KEY, FIRST, Given.record(), "node"));
        await(store.bus().begin("node", Duration.ofMinutes(1)));
    }

    @AfterEach
    void stop() {
        store.close();
        server.close();
    }

    private CompletionStage<?> commit(int number) {
        return store.commit(KEY, FIRST, number, all(unplaced(FIRST, "event " + number)));
    }

    @Test
    void aFullServerIsToldInItsOwnWordsUntilItTakesWritesAgain() {
        server.command("CONFIG", "SET", "maxmemory", "1");
        for (int tries = 0; tries < 3; tries++) {
            assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
        }
        assertThat(store.refusal())
                .hasValueSatisfying(words -> assertThat(words).startsWith("OOM command not allowed"));
        assertThat(store.trouble())
                .hasValueSatisfying(words -> assertThat(words)
                        .startsWith(
                                "redis://127.0.0.1:" + server.port() + " takes no writes: OOM command not allowed"));
        assertThat(lines)
                .singleElement()
                .asString()
                .startsWith("WARN " + store.trouble().orElseThrow());

        assertThat(await(store.bus().renew("node", Duration.ofMinutes(1)))).isTrue();
        assertThat(store.refusal()).as("what needs no memory says nothing").isPresent();

        server.command("CONFIG", "SET", "maxmemory", "0");
        until("it takes writes, though nobody has any", () -> store.trouble().isEmpty());
        assertThat(store.refusal()).isEmpty();
        until("that is told", () -> lines.size() == 2);
        assertThat(lines).last().asString().startsWith("INFO ").endsWith(" takes writes again");
        await(commit(1));
    }

    @Test
    void aServerWithoutEnoughReplicasIsToldInItsOwnWords() {
        server.command("CONFIG", "SET", "min-replicas-to-write", "1");
        assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
        assertThat(store.refusal())
                .hasValueSatisfying(words -> assertThat(words).startsWith("NOREPLICAS "));
        server.command("CONFIG", "SET", "min-replicas-to-write", "0");
        until("it takes writes", () -> store.trouble().isEmpty());
        await(commit(1));
    }

    @Test
    void aUserWithoutRightsIsToldUntilAScriptOfThatKindSucceeds() {
        server.command("ACL", "SETUSER", "default", "-zadd");
        for (int tries = 0; tries < 3; tries++) {
            assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
        }
        assertThat(store.refusal())
                .hasValueSatisfying(words -> assertThat(words).startsWith("The user "));
        assertThat(lines).singleElement().asString().contains(" refuses what it is asked: The user ");
        await(store.look(KEY));
        assertThat(store.refusal()).isPresent();
        server.command("ACL", "SETUSER", "default", "+zadd");
        await(commit(1));
        assertThat(store.trouble()).isEmpty();
    }

    @Test
    void aFullServerIsToldBesideWhatAUserMayNotDo() {
        server.command("ACL", "SETUSER", "default", "-zadd");
        assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
        server.command("ACL", "SETUSER", "default", "+zadd");
        server.command("CONFIG", "SET", "maxmemory", "1");
        assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
        assertThat(store.refusal())
                .hasValueSatisfying(words -> assertThat(words).startsWith("OOM "));
        server.command("CONFIG", "SET", "maxmemory", "0");
        until(
                "it takes writes, and the rights are not known to be there",
                () -> store.refusal()
                        .filter(words -> words.startsWith("The user "))
                        .isPresent());
        await(commit(1));
        assertThat(store.trouble()).isEmpty();
    }

    @Test
    void anErrorOfOneSessionSaysNothingOfOthers() {
        SessionKey other = SessionKey.of("other", "");
        server.command("SET", new String(RedisCodec.record("holdfast:", other), UTF_8), "x");
        assertThat(failureOf(store.look(other))).isInstanceOf(UnreadableSessionException.class);
        server.command("SCRIPT", "FLUSH");
        assertThat(succeeds(commit(1))).isTrue();
        assertThat(store.trouble()).isEmpty();
        assertThat(lines).isEmpty();
    }

    @Test
    void whatIsNotWhatWasWrittenIsOfItsSessionAlone() {
        String record = new String(RedisCodec.record("holdfast:", KEY), UTF_8);
        server.command("HSET", record, "J", "none");
        assertThat(failureOf(store.commit(KEY, FIRST, 1, journaled()))).isInstanceOf(UnreadableSessionException.class);
        server.command("HSET", record, "E", "short");
        assertThat(failureOf(store.join(KEY, 1, "node"))).isInstanceOf(UnreadableSessionException.class);
        assertThat(store.trouble()).isEmpty();
        assertThat(lines).isEmpty();
    }

    private static Append journaled() {
        return new Append(List.of(), List.of(new RecordChange.JournalPut("x", new byte[] {1})), List.of());
    }

    @ParameterizedTest
    @ValueSource(strings = {"HMGET", "EVALSHA", "ZADD"})
    void aCommandThatIsMissingIsTold(String command) {
        store.close();
        server.close();
        server = RedisServer.start("--rename-command", command, "");
        store = RedisStore.builder(server.url()).timeout(Given.PATIENCE).open();
        store.create(KEY, FIRST, Given.record(), "node")
                .toCompletableFuture()
                .exceptionally(failure -> null)
                .join();
        assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
        assertThat(store.refusal())
                .hasValueSatisfying(words ->
                        assertThat(words).containsIgnoringCase("unknown").doesNotContain("{"));
        assertThat(lines).singleElement().asString().startsWith("WARN ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"xread", "subscribe"})
    void whatIsNoScriptAndRefusedIsToldToo(String command) {
        server.command("ACL", "SETUSER", "default", "-" + command);
        try (var inbox = store.bus().receive("node", message -> {});
                var tail = store.tail(KEY, () -> {})) {
            until(
                    "it is told",
                    () -> store.refusal()
                            .filter(words -> words.contains(command))
                            .isPresent());
            server.command("ACL", "SETUSER", "default", "+" + command);
            until("it is over", () -> store.trouble().isEmpty());
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "OOM command not allowed. script: 12ab, on @user_script:43. | OOM command not allowed.",
                "ERR Error running script (call to f_12ab): @user_script:43: @user_script: 43: -OOM command not allowed. | OOM command not allowed.",
                "READONLY You can't write against a read only replica. | READONLY You can't write against a read only replica.",
                "MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk. | MISCONF",
                "NOAUTH Authentication required. | NOAUTH",
                "NOPERM this user has no permissions to run the 'evalsha' command | NOPERM",
                "ERR ACL failure in script: User x has no permissions to run the 'zadd' command | ACL failure",
                "ERR The user executing the script can't access at least one of the keys | The user",
                "CLUSTERDOWN The cluster is down | CLUSTERDOWN",
                "ERR Error running script (call to f_12ab): @user_script:43: @user_script: 43: -OOPS no. | OOPS no.",
                "OOPS no. script: 12ab, on @user_script:43. | OOPS no.",
                "ERR Error running script (call to f_12ab): @user_script:43: @user_script: 43: Unknown Redis command called from Lua script | Unknown Redis command called from Lua script",
                "ERR Error running script (call to f_12ab): @user_script:43: user_script:43: attempt to compare nil with OOM | ''",
                "ERR Error running script (call to f_12ab): @user_script:43: user_script:43: attempt to index global 'struct' (a nil value) | attempt to index global",
                "ERR hash value is not an integer script: 12ab, on @user_script:43. | ''",
                "ERR max daily request limit exceeded: OOM | ERR max daily request limit exceeded: OOM",
                "ERR unknown command 'EVALSHA', with args beginning with: '12ab' '2' 'holdfast:{x}' | ERR unknown command 'EVALSHA'",
                "WRONGTYPE Operation against a key holding the wrong kind of value | ''",
                "NOSCRIPT No matching script. Please use EVAL. | ''"
            })
    void anErrorThatIsNotOfOneSessionIsToldInItsOwnWords(String error, String words) {
        assertThat(Refusals.words(error).orElse("")).startsWith(words);
        assertThat(Refusals.words(error).isPresent()).isEqualTo(!words.isEmpty());
        assertThat(Refusals.words(error).orElse("")).doesNotContain("@user_script");
    }
}
