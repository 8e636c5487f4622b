package dev.holdfast.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cluster.SharedSessionStore.Member;
import dev.holdfast.spi.Append;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.tck.MemoryCluster;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Epochs that nobody has any more are fenced, though the store throws an error at one of them or loses an answer. */
class ClusterWriterTest {
    private static final SessionKey KEY = SessionKey.of("0123456789abcdef0123456789abcdef", "");
    private static final SessionRecord RECORD = new SessionRecord(
            1, SessionRecord.SESSION, "", Long.MAX_VALUE, SessionRecord.NO_EXTENSION, "", Map.of(), Map.of());

    private static final Append PUT =
            new Append(List.of(), List.of(new RecordChange.JournalPut("level", new byte[0])), List.of());

    private final TestHost host = new TestHost();
    private final SharedSessionStore store = new MemoryCluster();
    /** The name of a method of which the next answer is lost. */
    private String loses = "";
    /** Whether the next fence throws an error, as where a class is missing. */
    private boolean breaks;

    private final SharedSessionStore reached = (SharedSessionStore) Proxy.newProxyInstance(
            SharedSessionStore.class.getClassLoader(),
            new Class<?>[] {SharedSessionStore.class},
            (proxy, method, args) -> {
                if (method.getName().equals("fence") && breaks) {
                    breaks = false;
                    throw new NoClassDefFoundError("expected");
                }
                try {
                    Object answer = method.invoke(store, args);
                    if (method.getName().equals(loses)) {
                        loses = "";
                        return CompletableFuture.failedFuture(new IllegalArgumentException("lost"));
                    }
                    return answer;
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            });
    private final Lease lease = new Lease(store.bus(), host.engine, message -> {}, () -> {});
    private final ClusterWriter writer = new ClusterWriter(reached, lease, host.engine);

    @BeforeEach
    void begin() {
        store.create(KEY, new Epoch(1, 1), RECORD, "first")
                .toCompletableFuture()
                .join();
        lease.tick();
    }

    private List<String> nodes() {
        return members().stream().map(Member::node).toList();
    }

    private List<Member> members() {
        return store.members(KEY).toCompletableFuture().join();
    }

    private void claim(int nonce) {
        assertThat(writer.claim(KEY, nonce).toCompletableFuture().join()).isPresent();
    }

    private void loseJoin() {
        loses = "join";
        assertThat(writer.claim(KEY, 2).toCompletableFuture()).isCompletedExceptionally();
        assertThat(nodes()).containsExactly("first", lease.node());
    }

    @Test
    void aNewerEpochTellsOfTheJournalThatTheStoreHasNow() {
        claim(2);
        store.append(KEY, new Epoch(1, 1), PUT).toCompletableFuture().join();
        assertThat(writer.membership(KEY).orElseThrow().missing()).isEqualTo(-1);
        claim(3);
        assertThat(writer.membership(KEY).orElseThrow().missing()).isEqualTo(1);
    }

    /** The session is being joined under the next one, with the journal as it was. */
    @Test
    void anIncarnationThatIsOverKnowsNothingForTheNextOne() throws InterruptedException {
        BlockingQueue<NodeMessage> heard = new LinkedBlockingQueue<>();
        store.bus().begin("first", TestHost.LEASE);
        claim(2);
        host.passes(TestHost.LEASE.toMillis(), TimeUnit.MILLISECONDS);
        lease.tick();
        try (ClusterBus.Inbox inbox = store.bus().receive("first", message -> heard.add(NodeMessage.of(message)))) {
            writer.peers().heardOf(new NodeMessage.Journaled(KEY, 1, "first", 7));
            writer.left(KEY);
            claim(3);
            writer.peers().heardOf(new NodeMessage.Journaled(KEY, 1, "first", 8));
            assertThat(heard.poll(5, TimeUnit.SECONDS)).isEqualTo(new NodeMessage.Known(KEY, TestHost.name(2), 8));
        }
    }

    @Test
    void anErrorAtOneEpochLeavesTheOthersNotUnfenced() {
        store.join(KEY, 2, "second");
        store.join(KEY, 3, "third");
        breaks = true;

        assertThat(writer.fence(KEY, members().stream().map(Member::epoch)).toCompletableFuture())
                .isCompletedExceptionally();

        assertThat(members()).hasSize(1);
    }

    @Test
    void anEpochThatALostJoinHasMadeIsFencedAtTheNextJoin() {
        loseJoin();
        claim(3);

        assertThat(nodes()).containsExactly("first", lease.node());
    }

    @Test
    void anErrorAtSuchAnEpochIsMadeGoodLater() {
        loseJoin();
        breaks = true;
        claim(3);
        assertThat(nodes()).containsExactly("first", lease.node(), lease.node());

        claim(4);

        assertThat(nodes()).containsExactly("first", lease.node(), lease.node());
        assertThat(members()).extracting(member -> member.epoch().nonce()).containsExactly(1, 3, 4);
    }
}
