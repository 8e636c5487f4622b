package dev.holdfast.redis;

import static dev.holdfast.redis.Given.FIRST;
import static dev.holdfast.redis.Given.KEY;
import static dev.holdfast.redis.Given.all;
import static dev.holdfast.redis.Given.await;
import static dev.holdfast.redis.Given.failureOf;
import static dev.holdfast.redis.Given.succeeds;
import static dev.holdfast.redis.Given.unplaced;
import static dev.holdfast.redis.Given.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Append;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Redis stands still, forgets its scripts, or cannot be reached any more though no connection breaks. */
@Tag("jdk")
class RedisFailureTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Duration SOON = Duration.ofMillis(200);

    private RedisServer server;
    private Line line;
    private RedisStore store;

    @BeforeEach
    void start() {
        server = RedisServer.start();
        line = new Line(server.port());
        store = open(Given.PATIENCE);
        await(store.create(KEY, FIRST, Given.record(), "node"));
    }

    @AfterEach
    void stop() {
        store.close();
        line.close();
        server.close();
    }

    private RedisStore open(Duration timeout) {
        return RedisStore.builder(line.url()).timeout(timeout).open();
    }

    /** Takes a store in the place of the first that waits for no longer than the timeout. */
    private void hasten() {
        store.close();
        store = open(TIMEOUT);
    }

    private CompletionStage<?> commit(int number) {
        return store.commit(KEY, FIRST, number, all(unplaced(FIRST, "event " + number)));
    }

    private static Duration since(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }

    @Test
    void aNodeIsToldHowLongAnAnswerMayTake() {
        try (RedisStore patient = open(Duration.ofSeconds(7))) {
            assertThat(patient.bus().answersWithin()).isEqualTo(Duration.ofSeconds(7));
        }
    }

    @Test
    void whatAFrozenRedisDoesNotAnswerFailsInTimeAndBlocksNobody() {
        hasten();
        server.freeze();
        long start = System.nanoTime();
        List<CompletionStage<?>> stages = IntStream.rangeClosed(1, 50)
                .<CompletionStage<?>>mapToObj(this::commit)
                .toList();
        assertThat(since(start)).as("the calls alone").isLessThan(TIMEOUT);
        stages.forEach(stage -> assertThat(failureOf(stage)).isInstanceOf(RedisStoreException.class));
        assertThat(since(start)).isLessThan(TIMEOUT.multipliedBy(5));
        assertThat(store.trouble()).isPresent();

        until("commands fail at once", () -> {
            long asked = System.nanoTime();
            failureOf(store.look(KEY));
            return since(asked).compareTo(SOON) < 0;
        });

        server.thaw();
        until("the store works again", () -> succeeds(store.look(KEY)));
        for (int number = 1; number <= 50; number++) {
            assertThat(succeeds(commit(number)) || number < 50).isTrue();
        }
        assertThat(Given.texts(store))
                .containsExactlyElementsOf(
                        IntStream.rangeClosed(1, 50).mapToObj(i -> "event " + i).toList());
        assertThat(store.trouble()).isEmpty();
    }

    @Test
    void aConnectionThatCarriesNothingIsMadeAnew() {
        hasten();
        line.fallSilent();
        assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
        until("the store works again", () -> succeeds(commit(1)));
        assertThat(Given.texts(store)).containsExactly("event 1");
    }

    @Test
    void aServerThatHasForgottenItsScriptsGetsThemAgain() {
        await(commit(1));
        server.command("SCRIPT", "FLUSH");
        await(commit(2));
        server.command("SCRIPT", "FLUSH");
        await(store.look(KEY));
        assertThat(Given.texts(store)).containsExactly("event 1", "event 2");
    }

    /** Whoever cancels calls makes room; Redis refuses only scripts whose first write needs some. */
    @Test
    void aFullServerTakesTheEndOfACall() {
        RecordChange start = new RecordChange.CallStarted(Given.CALL, List.of(new RequestId("1")));
        await(store.commit(KEY, FIRST, 1, new Append(List.of(), List.of(start), List.of())));
        server.command("CONFIG", "SET", "maxmemory", "1");

        RecordChange end = new RecordChange.CallEnded(Given.CALL);
        await(store.commit(KEY, FIRST, 2, new Append(List.of(), List.of(end), List.of())));
        assertThat(await(store.look(KEY)).orElseThrow().record().running()).isEmpty();
        assertThat(failureOf(commit(3))).isInstanceOf(RedisStoreException.class);
    }

    /** Else every node would send its clients away, and none of their sessions could come back. */
    @Test
    void aFullServerTakesNoLeaseAway() {
        Duration lease = Duration.ofMinutes(1);
        await(store.bus().begin("node", lease));
        server.command("CONFIG", "SET", "maxmemory", "1");

        assertThat(await(store.bus().renew("node", lease))).isTrue();
        await(store.bus().begin("another", lease));
        assertThat(await(store.bus().renew("another", lease))).isTrue();
        assertThat(await(store.bus().living())).containsExactly("another", "node");
        assertThat(failureOf(commit(1))).isInstanceOf(RedisStoreException.class);
    }

    /** Else a session could not be ended on all nodes, and a call that waits for another node not be refused. */
    @Test
    void aFullServerTakesWhatNodesTellEachOther() {
        BlockingQueue<byte[]> received = new LinkedBlockingQueue<>();
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        server.command("CONFIG", "SET", "maxmemory", "1");
        try (var inbox = store.bus().receive("node", received::add)) {
            assertThat(inbox).isNotNull();
            for (byte sent = 1; sent <= 2; sent++) {
                assertThat(await(store.bus().send("node", new byte[] {sent}))).isTrue();
                byte so = sent;
                until("the message comes", () -> {
                    byte[] message = received.poll();
                    return message != null && message[0] == so;
                });
            }
        }
        assertThat(server.command("PTTL", "holdfast:{bus}inbox:node")).doesNotContain("-1");
    }

    @Test
    void anInboxThatIsFullHasRoomAgainThoughItsReaderWasNotHeard() {
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        byte[] large = new byte[4 << 20];
        AtomicInteger sent = new AtomicInteger();
        AtomicInteger received = new AtomicInteger();
        try (var inbox = store.bus().receive("node", message -> received.incrementAndGet())) {
            assertThat(inbox).isNotNull();
            server.command("ACL", "SETUSER", "default", "-xtrim");
            until("it is full", () -> {
                boolean taken = await(store.bus().send("node", large));
                sent.addAndGet(taken ? 1 : 0);
                return !taken;
            });
            until("all have come", () -> received.get() == sent.get());
            server.command("ACL", "SETUSER", "default", "+xtrim");

            until("there is room", () -> await(store.bus().send("node", large)));
        }
    }

    @Test
    void whoEndsLeavesNothing() {
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        assertThat(await(store.bus().send("node", new byte[] {1}))).isTrue();
        assertThat(server.command("KEYS", "holdfast:{bus}*").lines())
                .containsExactlyInAnyOrder(
                        "holdfast:{bus}leases", "holdfast:{bus}inbox:node", "holdfast:{bus}bytes:node");
        await(store.bus().end("node"));
        assertThat(server.command("KEYS", "holdfast:{bus}*")).isEmpty();
    }

    @Test
    void whatIsKeptOfANodeThatDiesRunsOut() {
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        AtomicInteger received = new AtomicInteger();
        try (var inbox = store.bus().receive("node", message -> received.incrementAndGet())) {
            assertThat(inbox).isNotNull();
            assertThat(await(store.bus().send("node", new byte[] {1}))).isTrue();
            until("the message has come", () -> received.get() == 1);
            until(
                    "it is removed",
                    () -> server.command("XLEN", "holdfast:{bus}inbox:node").equals("0"));
        }
        assertThat(server.command("PTTL", "holdfast:{bus}inbox:node")).doesNotContain("-");
        assertThat(server.command("PTTL", "holdfast:{bus}bytes:node")).doesNotContain("-");
    }

    @Test
    void whoHasFallenBehindReadsFewMessagesAtOnce() {
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        for (int i = 0; i < 80; i++) {
            assertThat(await(store.bus().send("node", new byte[] {1}))).isTrue();
        }
        AtomicInteger received = new AtomicInteger();
        try (var inbox = store.bus().receive("node", message -> received.incrementAndGet())) {
            assertThat(inbox).isNotNull();
            until("all have come", () -> received.get() == 80);
        }
        assertThat(server.command("INFO", "commandstats")).containsPattern("cmdstat_xread:calls=(1[0-9]|[2-9][0-9])");
    }

    @Test
    void hintsComeAgainOverAnotherConnection() {
        AtomicInteger hints = new AtomicInteger();
        AtomicInteger number = new AtomicInteger();
        try (RedisStore other =
                        RedisStore.builder(server.url()).timeout(Given.PATIENCE).open();
                var tail = store.tail(KEY, hints::incrementAndGet)) {
            assertThat(tail).isNotNull();
            for (int cuts = 0; cuts < 2; cuts++) {
                int before = hints.get();
                until("a hint", () -> {
                    int next = number.incrementAndGet();
                    await(other.commit(KEY, FIRST, next, all(unplaced(FIRST, "event " + next))));
                    return hints.get() > before;
                });
                line.cutRequestAfter(1);
                succeeds(store.look(KEY));
            }
        }
    }

    @Test
    void aTailThatBeginsWhileRedisIsAwayHearsOfCommitsAfterwards() {
        server.kill();
        until("it is noticed", () -> !succeeds(store.look(KEY)));
        AtomicInteger hints = new AtomicInteger();
        try (var tail = store.tail(KEY, hints::incrementAndGet)) {
            assertThat(tail).isNotNull();
            server.startAgain();
            until("the session is there", () -> succeeds(store.create(KEY, FIRST, Given.record(), "node")));
            AtomicInteger number = new AtomicInteger();
            until("a hint", () -> succeeds(commit(number.incrementAndGet())) && hints.get() > 1);
        }
    }

    @Test
    void anInboxGoesOnOverAnotherConnection() {
        Duration lease = Duration.ofMinutes(1);
        AtomicInteger received = new AtomicInteger();
        try (RedisStore other =
                RedisStore.builder(server.url()).timeout(Given.PATIENCE).open()) {
            await(store.bus().begin("node", lease));
            try (var inbox = store.bus().receive("node", message -> received.incrementAndGet())) {
                assertThat(inbox).isNotNull();
                for (int sent = 1; sent <= 3; sent++) {
                    assertThat(await(other.bus().send("node", new byte[] {1}))).isTrue();
                    int so = sent;
                    until("the message comes", () -> received.get() == so);
                    line.cutRequestAfter(1);
                    succeeds(store.look(KEY));
                }
            }
        }
        assertThat(received).as("each once").hasValue(3);
    }

    @Test
    void anInboxGoesOnAfterAnErrorOfItsHandler() {
        List<Byte> received = new CopyOnWriteArrayList<>();
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        try (var inbox = store.bus().receive("node", message -> {
            received.add(message[0]);
            if (message[0] == 1) {
                throw new NoClassDefFoundError("expected");
            }
        })) {
            assertThat(inbox).isNotNull();
            for (byte sent = 1; sent <= 2; sent++) {
                assertThat(await(store.bus().send("node", new byte[] {sent}))).isTrue();
            }
            until("the message behind it comes", () -> received.size() == 2);
        }
        assertThat(received).containsExactly((byte) 1, (byte) 2);
    }

    @Test
    void theThreadsThatTellWhatRedisHasAnsweredAreThereFromTheStart() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        try (RedisConnections.CallbackThreads completions = new RedisConnections.CallbackThreads(3)) {
            assertThat(completions).isNotNull();
            assertThat(Thread.getAllStackTraces().keySet())
                    .filteredOn(thread ->
                            !before.contains(thread) && thread.getName().startsWith("holdfast-redis-"))
                    .hasSizeGreaterThanOrEqualTo(3);
        }
    }

    @Test
    void aNodeHasThreeConnectionsHoweverManySessionsItTails() {
        await(store.bus().begin("node", Duration.ofMinutes(1)));
        long others = clients() - 2;
        try (var inbox = store.bus().receive("node", message -> {})) {
            assertThat(inbox).isNotNull();
            for (int i = 0; i < 100; i++) {
                store.tail(SessionKey.of("session " + i, ""), () -> {});
                await(store.look(KEY));
            }
            until("the inbox is connected", () -> clients() - others == 3);
        }
    }

    private long clients() {
        return server.command("CLIENT", "LIST")
                .lines()
                .filter(line -> line.contains("cmd="))
                .count();
    }
}
